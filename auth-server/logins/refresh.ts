import { type Clock, unixSeconds } from '../../shared/platform/clock.ts'
import { ProblemError, Unavailable } from '../../shared/platform/problems/errors.ts'
import type { InstancePrincipal } from '../../shared/protocol/principal/record.ts'
import type { PrincipalPublisher } from '../principals/principal-publisher.ts'
import type { Sealing } from '../store/sealing.ts'
import type { IssueAccessToken } from '../tokens/access-tokens.ts'
import type { RefreshTokenContent, RefreshTokens } from '../tokens/refresh-tokens.ts'
import { issueRefreshToken, type TokenLogin, type TokenResponse, tokenResponse } from './issue-tokens.ts'
import type { RefreshTokenFamilies } from './refresh-token-families.ts'
import {
  decideRefresh,
  type LoginLifetimes,
  type RefreshTime,
  type RefreshTokenFamily,
  type TokenTimes,
  tokenTimes,
} from './refresh-token-family.ts'
import type { RevokeLogin } from './revoke-login.ts'
import type { Rotated } from './rotate-families.ts'

/** The systems and settings that a refresh uses. */
export interface RefreshPorts {
  readonly revokeLogin: RevokeLogin
  readonly refreshTokenFamilies: RefreshTokenFamilies
  readonly issueAccessToken: IssueAccessToken
  readonly refreshTokens: RefreshTokens
  readonly sealing: Sealing
  readonly lifetimes: LoginLifetimes
  readonly publisher: Pick<PrincipalPublisher, 'isCached' | 'reloaded'>
  readonly clock: Clock
}

/**
 * Returns a new access token and refresh token for a refresh token (RFC 6749 §6). A repeat within the retry window,
 * after a lost response, returns the same refresh token and a new access token. Before this resolves, the user's
 * principal record was read again, and published if the cache had another one.
 *
 * @throws ProblemError `invalid_grant` (RFC 6749 §5.2) when the refresh token is not valid. A used token that comes
 *   after the retry window also revokes its login.
 * @throws Unavailable
 */
export type Refresh = (refreshToken: string, found?: LoginFound) => Promise<TokenResponse>

/** Called when the login of a token that is not rotated at once is stored, even if it is revoked. */
export type LoginFound = (login: { readonly id: string; readonly username: string }) => void

/** Each further attempt means that another request changed the same family in between. */
const maxAttempts = 8

/** The token of this request, and its arrival. */
interface ReceivedToken extends Omit<RefreshTime, 'waitedMs'> {
  readonly token: RefreshTokenContent
  /** By the monotonic clock. */
  readonly arrivedMs: number
}

/** Creates the refresh over these ports. */
export function createRefresh(ports: RefreshPorts): Refresh {
  const retryWindowMs = ports.lifetimes.refreshRetryWindowSeconds * 1000
  return async function refreshTokens(refreshToken, found) {
    const now = ports.clock.now()
    const token = ports.refreshTokens.read(refreshToken)
    if (!token) throw invalidGrant()
    const received = { token, now, retryWindowMs, arrivedMs: ports.clock.monotonic() }
    const atOnce = await rotateAtOnce(ports, received)
    if (atOnce) return atOnce
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const family = await ports.refreshTokenFamilies.find(token.loginId)
      if (!family) throw invalidGrant()
      found?.(family)
      const response = await actOn(ports, family, received)
      if (response) return response
    }
    throw new Unavailable('database')
  }
}

/**
 * The common case, by one statement: the token is the unused one, and the login outlives the new tokens. The token
 * tells all that they repeat of its family, and the statement compares that with the row. Undefined in any other case:
 * nothing has changed then.
 */
async function rotateAtOnce(ports: RefreshPorts, received: ReceivedToken): Promise<TokenResponse | undefined> {
  const { token, now } = received
  if (token.expiresAt * 1000 <= now) return undefined
  const { loginId: id, username, generation, audience, counter } = token
  const login = { id, username, generation, audience, counter, expiresAt: Number.POSITIVE_INFINITY }
  const rotated = await rotate(ports, login)
  return rotated && answer(ports, { ...rotated, login })
}

/** One attempt; undefined when another request changed the family in between. */
async function actOn(
  ports: RefreshPorts,
  family: RefreshTokenFamily,
  received: ReceivedToken,
): Promise<TokenResponse | undefined> {
  const { now, retryWindowMs, arrivedMs } = received
  const waitedMs = ports.clock.monotonic() - arrivedMs
  const decision = decideRefresh(family, received.token, { now, retryWindowMs, waitedMs })
  switch (decision) {
    case 'rotate':
    case 'repeat': {
      const tokens = decision === 'rotate' ? await rotate(ports, family) : await repeat(ports, family, received)
      return tokens && answer(ports, { ...tokens, login: family })
    }
    case 'late':
    case 'reuse':
      await ports.revokeLogin({ id: family.id, username: family.username, reason: 'reuse' })
      throw invalidGrant(decision === 'late' ? lateDetail(retryWindowMs) : reuseDetail)
    case 'refuse':
      throw invalidGrant()
  }
}

/** The refresh token of the answer, and the times of both tokens. */
interface NewTokens extends Rotated {
  readonly refreshToken: string
  readonly times: TokenTimes
}

type Family = Pick<RefreshTokenFamily, 'id' | 'username' | 'generation' | 'audience' | 'counter' | 'expiresAt'>

async function rotate(ports: RefreshPorts, family: Family): Promise<NewTokens | undefined> {
  const now = ports.clock.now()
  const times = tokenTimes(ports.lifetimes, unixSeconds(now), unixSeconds(family.expiresAt))
  const successor = family.counter + 1
  const refreshToken = issueRefreshToken(ports.refreshTokens, family, { counter: successor, times })
  const sealed = ports.sealing.seal(refreshToken, refreshTokenData(family.id, successor))
  const rotation = { login: family, counter: family.counter, sealed, times, now }
  const rotated = await ports.refreshTokenFamilies.rotate(rotation)
  return rotated && { ...rotated, refreshToken, times }
}

async function repeat(
  ports: RefreshPorts,
  family: Family,
  { token: { counter }, arrivedMs, retryWindowMs }: ReceivedToken,
): Promise<NewTokens | undefined> {
  const now = ports.clock.now()
  const times = tokenTimes(ports.lifetimes, unixSeconds(now), unixSeconds(family.expiresAt))
  const { accessExpiresAt } = times
  const withinMs = retryWindowMs + ports.clock.monotonic() - arrivedMs
  const retry = { username: family.username, counter, withinMs, accessExpiresAt, now }
  const repeated = await ports.refreshTokenFamilies.repeat(family.id, retry)
  if (!repeated) return undefined
  const refreshToken = ports.sealing.open(repeated.sealed, refreshTokenData(family.id, counter + 1))
  const refreshExpiresAt = unixSeconds(repeated.refreshExpiresAt)
  const { proof, principal } = repeated
  return { refreshToken, times: { ...times, refreshExpiresAt }, proof, principal }
}

/** The response after the decision: signs the access token while the record is compared, and waits for both. */
async function answer(
  ports: RefreshPorts,
  { login, ...tokens }: NewTokens & { login: TokenLogin },
): Promise<TokenResponse> {
  const [response] = await Promise.all([
    tokenResponse(ports.issueAccessToken, login, tokens),
    publishIfOther(ports, tokens.principal, login),
  ])
  return response
}

/**
 * Publishes the record where the cache has another one, as after a change in the database that no server made. Deal
 * servers know the record otherwise.
 */
async function publishIfOther(
  { publisher }: RefreshPorts,
  principal: InstancePrincipal,
  { username }: TokenLogin,
): Promise<void> {
  if (!(await publisher.isCached(principal))) await publisher.reloaded(username)
}

/** The associated data of the encrypted token of this family and counter. */
export const refreshTokenData = (familyId: string, counter: number) => ({
  purpose: 'refresh-token',
  row: `${familyId}/${counter}`,
})

const reuseDetail = 'This refresh token was used before, and so was the one that took its place. The login has ended.'

const lateDetail = (retryWindowMs: number) =>
  'This refresh token was used before. The request could be repeated within ' +
  `${retryWindowMs / 1000} seconds after that; this time is over. The login has ended.`

const invalidGrant = (detail = 'The refresh token is not valid, has expired, or its login has ended.') =>
  new ProblemError('invalid_grant', detail)
