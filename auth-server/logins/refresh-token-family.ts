/**
 * Logins. Each login is one family of refresh tokens: one row with a counter, of which at most one token is unused (docs/contract.md#refresh-rotation; RFC 9700 §4.14.2). This folder owns passwords, logins, and what ends a login; it must not know HTTP, nor
 * what a right is.
 *
 * Here: what may be done with a refresh token, as a pure decision, and how long tokens of a login live.
 */

/** A family with what its user's row says of it. Times in milliseconds. */
export interface RefreshTokenFamily {
  readonly id: string
  readonly username: string
  readonly generation: number
  /** Counter of the one unused refresh token. */
  readonly counter: number
  readonly rotatedAt: number | null
  /** However often refreshed, the login ends here. */
  readonly expiresAt: number
  /** When the unused refresh token expires. */
  readonly refreshExpiresAt: number
  /** Not ended, its user enabled, and its generation not raised past it. */
  readonly alive: boolean
}

/**
 * What presenting a refresh token comes to: `rotate` uses it up, `repeat` gives its unused successor again, `refuse` changes nothing.
 * The other two end the family: the token is an old one (`reuse`), or the one just before after the window (`late`).
 */
export type RefreshDecision = 'rotate' | 'repeat' | 'late' | 'reuse' | 'refuse'

/** When a token was presented, and how long a rotation may be repeated, both in milliseconds. */
export interface RefreshTime {
  readonly now: number
  readonly retryWindowMs: number
}

/**
 * Decides what a presented refresh token comes to. The one just before is repeated for a client that lost an answer. After the window it
 * is taken for stolen although its successor is unused: a thief who came first holds that successor (RFC 9700 §4.14.2).
 */
export function decideRefresh(
  family: RefreshTokenFamily,
  presented: { counter: number; expiresAt: number },
  { now, retryWindowMs }: RefreshTime,
): RefreshDecision {
  if (!family.alive || family.expiresAt <= now || presented.expiresAt * 1000 <= now) return 'refuse'
  if (presented.counter > family.counter || family.refreshExpiresAt <= now) return 'refuse'
  if (presented.counter === family.counter) return 'rotate'
  if (presented.counter < family.counter - 1) return 'reuse'
  return now - (family.rotatedAt ?? Number.NEGATIVE_INFINITY) <= retryWindowMs ? 'repeat' : 'late'
}

/** Settings that bound tokens and logins, in seconds. */
export interface LoginLifetimes {
  /** `ACCESS_TOKEN_TTL`. */
  readonly accessTokenTtlSeconds: number
  /** `REFRESH_TOKEN_TTL`. */
  readonly refreshTokenTtlSeconds: number
  /** `LOGIN_MAX_TTL`. */
  readonly loginMaxTtlSeconds: number
  /** `REFRESH_RETRY_WINDOW`. */
  readonly refreshRetryWindowSeconds: number
}

/** Times of one issue of tokens, all in seconds since the epoch: none lies beyond the end of the login. */
export interface TokenTimes {
  readonly issuedAt: number
  readonly accessExpiresAt: number
  readonly refreshExpiresAt: number
}

/** When tokens issued now expire, given when their login ends. */
export const tokenTimes = (lifetimes: LoginLifetimes, issuedAt: number, loginExpiresAt: number): TokenTimes => ({
  issuedAt,
  accessExpiresAt: Math.min(issuedAt + lifetimes.accessTokenTtlSeconds, loginExpiresAt),
  refreshExpiresAt: Math.min(issuedAt + lifetimes.refreshTokenTtlSeconds, loginExpiresAt),
})
