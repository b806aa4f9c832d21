/**
 * The login throttle (docs/contract/accounts.md#login-throttle). Every check of a secret that an attacker could guess
 * (a password, a Digest response, the password of a key-signed token) goes through it. Right secrets that are accepted
 * from a cache are judged, too: a response from memory tells as much as a check.
 */

/** An attempt: the account whose secret is tried, and the client. */
export interface Attempt {
  /**
   * The user name as sent; it is folded here. Undefined where no account can be named. Then, and for a text that can be
   * neither a user name nor an id, only the address counts.
   */
  readonly account: string | undefined
  /** The name that the attempt counts under in place of the account. */
  readonly countedAs?: string
  /**
   * What is tried, where it is not a password: a secret of 256 bits, or the code of a device. Its failures count apart,
   * so that a client that takes the password for that secret locks nobody out.
   */
  readonly secret?: 'digest' | 'client' | 'user-code'
  /**
   * The id of the service that tells of the attempt. It may state any address, so failures count for this service
   * alone.
   */
  readonly service?: string
  /** The name of the user who tries, where that is not the account. */
  readonly actor?: string
  /** The client's canonical address. */
  readonly address: string
  /** How long the attempt waits for others in flight, in milliseconds; 10 000 by default. */
  readonly patienceMs?: number
}

/** The counts of failures and of attempts in flight. */
export interface LoginThrottle {
  /**
   * Runs `check` unless there were too many failures. A result of undefined counts as a failure; an error counts as
   * nothing.
   * @throws ProblemError `too-many-attempts` with the time until the next try; and the errors of `check`
   */
  attempt<Result>(attempt: Attempt, check: () => Promise<Result | undefined>): Promise<Result | undefined>

  /**
   * Counts an attempt whose outcome is known already: as a failure when it was wrong. A right one is never in flight.
   * Undefined when the caller need not wait.
   * @throws ProblemError `too-many-attempts`, for right attempts, too; Unavailable
   */
  judge(attempt: Attempt, isRight: boolean): Promise<void> | undefined

  /** Notes an attempt from this address that another server counts: from now on, right attempts are judged again. */
  noteTry(attempt: Attempt): void
}
