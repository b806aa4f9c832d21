import { type Clock, unixSeconds } from '../../shared/platform/clock.ts'
import { ProblemError, Unavailable } from '../../shared/platform/problems/errors.ts'
import type { Sealing } from '../store/sealing.ts'
import type { IssueAccessToken } from '../tokens/access-tokens.ts'
import type { RefreshTokenContent, RefreshTokens } from '../tokens/refresh-tokens.ts'
import type { PrincipalPublisher } from '../users/principal-publisher.ts'
import { issueRefreshToken, type TokenResponse, tokenResponse } from './issue-tokens.ts'
import type { RefreshTokenFamilies } from './refresh-token-families.ts'
import {
  decideRefresh,
  type LoginLifetimes,
  type RefreshTime,
  type RefreshTokenFamily,
  tokenTimes,
} from './refresh-token-family.ts'
import { type RevokeLoginPorts, revokeLogin } from './revoke-login.ts'

/** The systems and settings that a refresh uses. */
export interface RefreshPorts extends RevokeLoginPorts {
  readonly refreshTokenFamilies: RefreshTokenFamilies
  readonly issueAccessToken: IssueAccessToken
  readonly refreshTokens: RefreshTokens
  readonly sealing: Sealing
  readonly lifetimes: LoginLifetimes
  readonly publisher: Pick<PrincipalPublisher, 'waitUntilPublished' | 'reloaded'>
  readonly clock: Clock
}

/**
 * Returns a new access token and refresh token for a refresh token (RFC 6749 §6). A repeat within the retry window,
 * after a lost response, returns the same refresh token and a new access token. Before this resolves, the user's
 * principal record is read again and published.
 *
 * @throws ProblemError `invalid_grant` (RFC 6749 §5.2) when the refresh token is not valid. A used token that comes
 *   after the retry window also revokes its login.
 * @throws Unavailable
 */
export type Refresh = (refreshToken: string, reports?: RefreshReports) => Promise<TokenResponse>

/** Callbacks of a refresh, for the audit log. */
export interface RefreshReports {
  /** Called when the login of the token is stored, even if it is revoked. */
  found?(login: { readonly id: string; readonly username: string }): void
  /**
   * Called before a reuse revokes the login, because a reuse is detected once. When it throws, the login stays valid.
   */
  reused?(): Promise<void>
}

/** Each further attempt means that another request changed the same family in between. */
const maxAttempts = 8

/** The token of this request, and its arrival. */
interface Presented extends RefreshTime {
  readonly token: RefreshTokenContent
  readonly reports: RefreshReports
}

/** Creates the refresh over these ports. The time of arrival counts, so a slow database makes no request late. */
export function createRefresh(ports: RefreshPorts): Refresh {
  const retryWindowMs = ports.lifetimes.refreshRetryWindowSeconds * 1000
  return async (refreshToken, reports = {}) => {
    const now = ports.clock.now()
    const token = ports.refreshTokens.read(refreshToken)
    if (!token) throw invalidGrant()
    const presented = { token, reports, now, retryWindowMs }
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const family = await ports.refreshTokenFamilies.find(token.loginId)
      if (!family) throw invalidGrant()
      reports.found?.(family)
      const response = await actOn(ports, family, presented)
      if (response) {
        await ports.publisher.reloaded(family.username)
        return response
      }
    }
    throw new Unavailable('database')
  }
}

/** One attempt; undefined when another request changed the family in between. */
async function actOn(
  ports: RefreshPorts,
  family: RefreshTokenFamily,
  presented: Presented,
): Promise<TokenResponse | undefined> {
  const decision = decideRefresh(family, presented.token, presented)
  switch (decision) {
    case 'rotate':
      return rotate(ports, family)
    case 'repeat':
      return repeat(ports, family, presented)
    case 'late':
    case 'reuse':
      await presented.reports.reused?.()
      await revokeLogin(ports, { id: family.id, username: family.username, reason: 'reuse' })
      throw invalidGrant(decision === 'late' ? lateDetail(presented.retryWindowMs) : reuseDetail)
    case 'refuse':
      throw invalidGrant()
  }
}

async function rotate(ports: RefreshPorts, family: RefreshTokenFamily): Promise<TokenResponse | undefined> {
  const now = ports.clock.now()
  const times = tokenTimes(ports.lifetimes, unixSeconds(now), unixSeconds(family.expiresAt))
  const successor = family.counter + 1
  const refreshToken = issueRefreshToken(ports.refreshTokens, family, { counter: successor, times })
  const sealed = ports.sealing.seal(refreshToken, refreshTokenPlace(family.id, successor))
  const rotation = { counter: family.counter, sealed, times, now }
  if (!(await ports.refreshTokenFamilies.rotate(family.id, rotation))) return undefined
  return tokenResponse(ports.issueAccessToken, family, { refreshToken, times })
}

async function repeat(
  ports: RefreshPorts,
  family: RefreshTokenFamily,
  { token: { counter }, now, retryWindowMs }: Presented,
): Promise<TokenResponse | undefined> {
  const times = tokenTimes(ports.lifetimes, unixSeconds(ports.clock.now()), unixSeconds(family.expiresAt))
  const { accessExpiresAt } = times
  const retry = { counter, rotatedSince: now - retryWindowMs, accessExpiresAt }
  const repeated = await ports.refreshTokenFamilies.repeat(family.id, retry)
  if (!repeated) return undefined
  const refreshToken = ports.sealing.open(repeated.sealed, refreshTokenPlace(family.id, counter + 1))
  const refreshExpiresAt = unixSeconds(repeated.refreshExpiresAt)
  return tokenResponse(ports.issueAccessToken, family, { refreshToken, times: { ...times, refreshExpiresAt } })
}

/** The associated data of the encrypted token of this family and counter. */
export const refreshTokenPlace = (familyId: string, counter: number) => ({
  purpose: 'refresh-token',
  row: `${familyId}/${counter}`,
})

const reuseDetail = 'This refresh token was used before, and so was the one that took its place. The login has ended.'

const lateDetail = (retryWindowMs: number) =>
  'This refresh token was used before. The request could be repeated within ' +
  `${retryWindowMs / 1000} seconds after that; this time is over. The login has ended.`

const invalidGrant = (detail = 'The refresh token is not valid, has expired, or its login has ended.') =>
  new ProblemError('invalid_grant', detail)
