/**
 * Decides about refresh tokens (docs/contract/logins.md#refresh-rotation; RFC 9700 §4.14.2), and computes the lifetimes
 * of tokens. Each login is one refresh token family: one row with a counter, and at most one unused token. Pure: no
 * database, no clock.
 */

/** Whose login it is, and for which tokens. */
export interface FamilyLogin {
  readonly id: string
  /** The user name as created. */
  readonly username: string
  readonly generation: number
  /** The audience of its access tokens; null: that of the pair. */
  readonly audience: string | null
  /** The client that it is of; null: a login at `/login`. */
  readonly clientId: string | null
}

/** A refresh token family, joined with its user. Times in milliseconds. */
export interface RefreshTokenFamily extends FamilyLogin {
  /** What its client was granted, scopes and rights; null for a login at `/login`. */
  readonly granted: readonly string[] | null
  /** Counter of the one unused refresh token. */
  readonly counter: number
  /** How long ago the token before it was used; null before the first rotation. */
  readonly rotatedAgoMs: number | null
  /** The same of the token two before it. */
  readonly formerRotatedAgoMs: number | null
  /** The end of the login, which a refresh does not move. */
  readonly expiresAt: number
  /** When the unused refresh token expires. */
  readonly refreshExpiresAt: number
  /**
   * True when the family is not revoked, its user is enabled, the principal accepts its generation, and the resource
   * server of its audience exists, and so do its client and the session that it hangs on.
   */
  readonly alive: boolean
}

/**
 * The decision about a refresh token. `rotate` replaces it, `repeat` returns its unused successor again, `refuse`
 * changes nothing. `reuse` (an older token) and `late` (the previous token, after the retry window) revoke the family.
 */
export type RefreshDecision = 'rotate' | 'repeat' | 'late' | 'reuse' | 'refuse'

/** The time of a request, in milliseconds. */
export interface RefreshTime {
  readonly now: number
  /** How long ago the request arrived. It is judged as of then, so that a slow database makes no request late. */
  readonly waitedMs: number
  readonly retryWindowMs: number
}

/**
 * Decides about a refresh token. The previous token is accepted again within the retry window, for a client that lost
 * the response. After the window it counts as stolen, although its successor is unused: a thief may have used the token
 * first and hold that successor (RFC 9700 §4.14.2). The token two before is refused within the window of its own
 * rotation and ends nothing: a client that repeats may be answered twice while its first request is still on its way.
 */
export function decideRefresh(
  family: RefreshTokenFamily,
  token: { counter: number; expiresAt: number },
  { now, waitedMs, retryWindowMs }: RefreshTime,
): RefreshDecision {
  const isWithinWindow = (agoMs: number | null) => agoMs !== null && agoMs - waitedMs <= retryWindowMs
  if (!family.alive || family.expiresAt <= now || token.expiresAt * 1000 <= now) return 'refuse'
  if (token.counter > family.counter || family.refreshExpiresAt <= now) return 'refuse'
  if (token.counter === family.counter) return 'rotate'
  if (token.counter === family.counter - 1) return isWithinWindow(family.rotatedAgoMs) ? 'repeat' : 'late'
  const isTwoBefore = token.counter === family.counter - 2
  return isTwoBefore && isWithinWindow(family.formerRotatedAgoMs) ? 'refuse' : 'reuse'
}

/** The settings for lifetimes of tokens and logins, in seconds. */
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

/** The times of one pair of tokens, in seconds since the epoch. No time is after the end of the login. */
export interface TokenTimes {
  readonly issuedAt: number
  readonly accessExpiresAt: number
  readonly refreshExpiresAt: number
}

/** The times of tokens that are issued at `issuedAt`, for a login that ends at `loginExpiresAt`. */
export const tokenTimes = (lifetimes: LoginLifetimes, issuedAt: number, loginExpiresAt: number): TokenTimes => ({
  issuedAt,
  accessExpiresAt: Math.min(issuedAt + lifetimes.accessTokenTtlSeconds, loginExpiresAt),
  refreshExpiresAt: Math.min(issuedAt + lifetimes.refreshTokenTtlSeconds, loginExpiresAt),
})
