/**
 * The limits on guessing (CONTRACT "Guessing"): whatever proves a secret by trying it (a password, a Digest response, the password of a
 * key-signed token) goes through here. What was right and is remembered is judged too: an answer from memory tells as much as a check.
 */

/** Whose secret is tried, and from where. */
export interface Attempt {
  /**
   * As presented; folded here. Undefined where no account can be named; the address alone counts then, and for what can be neither a user's
   * name nor an id.
   */
  readonly account: string | undefined
  /** What it counts under in place of the account. */
  readonly countedAs?: string
  /** User name of whoever tries it, where that is another than the account. */
  readonly actor?: string
  /** The client's canonical address. */
  readonly address: string
  /** How long it waits for others in flight, in milliseconds; 10 000 when left out. */
  readonly patienceMs?: number
}

/** Counts failures and attempts in flight. */
export interface Guesses {
  /**
   * Runs `check` unless there were too many failures: undefined from `check` is one. What it throws counts as none.
   * @throws Refused `too-many-attempts` with `retryAfterSeconds`, and whatever `check` throws
   */
  attempt<Result>(attempt: Attempt, check: () => Promise<Result | undefined>): Promise<Result | undefined>

  /**
   * Counts an attempt of which it is known at once whether it was right: as a failure when it was not. One that was right is never in flight;
   * undefined when it need not be waited for.
   * @throws Refused `too-many-attempts` with `retryAfterSeconds`, for right ones too; Unavailable
   */
  judge(attempt: Attempt, isRight: boolean): Promise<void> | undefined

  /** Something is tried from this address that another server counts: right ones are judged anew from now on. */
  noteTry(attempt: Attempt): void
}
