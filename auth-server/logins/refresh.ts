import { type Clock, unixSeconds } from '../../shared/platform/clock.ts'
import { ProblemError, Unavailable } from '../../shared/platform/problems/errors.ts'
import type { Sealing } from '../store/sealing.ts'
import type { IssueAccessToken } from '../tokens/access-tokens.ts'
import type { RefreshTokenContent, RefreshTokens } from '../tokens/refresh-tokens.ts'
import type { PrincipalPublisher } from '../users/principal-publisher.ts'
import { answerWith, issueRefreshToken, type TokenResponse } from './issue-tokens.ts'
import type { RefreshTokenFamilies } from './refresh-token-families.ts'
import {
  decideRefresh,
  type LoginLifetimes,
  type RefreshTime,
  type RefreshTokenFamily,
  tokenTimes,
} from './refresh-token-family.ts'
import { type EndLoginPorts, endLogin } from './revoke-login.ts'

/** What a refresh needs. */
export interface RefreshPorts extends EndLoginPorts {
  readonly refreshTokenFamilies: RefreshTokenFamilies
  readonly issueAccessToken: IssueAccessToken
  readonly refreshTokens: RefreshTokens
  readonly sealing: Sealing
  readonly lifetimes: LoginLifetimes
  readonly publisher: Pick<PrincipalPublisher, 'waitUntilPublished' | 'reloaded'>
  readonly clock: Clock
}

/**
 * Trades a refresh token for a new pair (RFC 6749 §6), or, when its answer was lost a moment ago, for the same refresh token again with
 * a fresh access token. The user's record is read anew and replaced before this resolves.
 *
 * @throws ProblemError `invalid_grant` (RFC 6749 §5.2) for whatever is no live refresh token; one that was used before, and may not be
 *   repeated any more, ends its login
 * @throws Unavailable
 */
export type Refresh = (refreshToken: string, reports?: RefreshReports) => Promise<TokenResponse>

/** What is to be known of a refresh beside its answer. */
export interface RefreshReports {
  /** Called when the token belongs to a login that is known, be it dead. */
  found?(login: { readonly id: string; readonly username: string }): void
  /** Called before the login ends because a used token came back: that cannot be detected twice. What it throws keeps it alive. */
  reused?(): Promise<void>
}

/** Every lost race means that another caller rotated the same family meanwhile. */
const maxAttempts = 8

/** A token that was presented, and when. */
interface Presented extends RefreshTime {
  readonly token: RefreshTokenContent
  readonly reports: RefreshReports
}

/** Refreshing over these ports. The moment of arrival counts: a client in time is in time however slow the database is. */
export function createRefresh(ports: RefreshPorts): Refresh {
  const retryWindowMs = ports.lifetimes.refreshRetryWindowSeconds * 1000
  return async (refreshToken, reports = {}) => {
    const now = ports.clock.now()
    const token = await ports.refreshTokens.read(refreshToken)
    if (!token) throw invalidGrant()
    const presented = { token, reports, now, retryWindowMs }
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const family = await ports.refreshTokenFamilies.find(token.loginId)
      if (!family) throw invalidGrant()
      reports.found?.(family)
      const answer = await takeStep(ports, family, presented)
      if (answer) {
        await ports.publisher.reloaded(family.username)
        return answer
      }
    }
    throw new Unavailable('database')
  }
}

/** One attempt; undefined when the family changed under it. */
async function takeStep(
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
      await endLogin(ports, { id: family.id, username: family.username, reason: 'reuse' })
      throw invalidGrant(decision === 'late' ? lateDetail(presented.retryWindowMs) : reuseDetail)
    case 'refuse':
      throw invalidGrant()
  }
}

async function rotate(ports: RefreshPorts, family: RefreshTokenFamily): Promise<TokenResponse | undefined> {
  const now = ports.clock.now()
  const times = tokenTimes(ports.lifetimes, unixSeconds(now), unixSeconds(family.expiresAt))
  const successor = family.counter + 1
  const refreshToken = await issueRefreshToken(ports.refreshTokens, family, { counter: successor, times })
  const sealed = ports.sealing.seal(refreshToken, refreshTokenPlace(family.id, successor))
  const rotation = { counter: family.counter, sealed, times, now }
  if (!(await ports.refreshTokenFamilies.rotate(family.id, rotation))) return undefined
  return answerWith(ports.issueAccessToken, family, { refreshToken, times })
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
  return answerWith(ports.issueAccessToken, family, { refreshToken, times: { ...times, refreshExpiresAt } })
}

/** Where the sealed token of this family and counter belongs. */
export const refreshTokenPlace = (familyId: string, counter: number) => ({
  purpose: 'refresh-token',
  row: `${familyId}/${counter}`,
})

const reuseDetail = 'This refresh token was used before, and so was the one that took its place. The login has ended.'

const lateDetail = (retryWindowMs: number) =>
  `This refresh token was used before. The request could be repeated within ${retryWindowMs / 1000} seconds after that; this time is over. The login has ended.`

const invalidGrant = (detail = 'The refresh token is not valid, has expired, or its login has ended.') =>
  new ProblemError('invalid_grant', detail)
