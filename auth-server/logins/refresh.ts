import { unixSeconds } from '../../shared/platform/clock.ts'
import { ProblemError, Unavailable } from '../../shared/platform/problems/errors.ts'
import type { EntryOrigin } from '../../shared/protocol/entry-changes.ts'
import type { InstancePrincipal } from '../../shared/protocol/principal/record.ts'
import type { ClientLogin } from '../tokens/id-tokens.ts'
import type { RefreshTokenContent } from '../tokens/refresh-tokens.ts'
import { issueRefreshToken, type TokenLogin, type TokenResponse, tokenResponse } from './issue-tokens.ts'
import type { LoginSystems } from './login-systems.ts'
import {
  decideRefresh,
  type RefreshTime,
  type RefreshTokenFamily,
  type TokenTimes,
  tokenTimes,
} from './refresh-token-family.ts'
import type { Rotated } from './rotate-families.ts'

/** Who refreshes. */
export interface Refreshing {
  /** Of the audit entries; left out: they are those of the work under way. */
  readonly origin?: EntryOrigin
  /** The client that has authenticated; left out: the public client of logins at `/login`. */
  readonly clientId?: string | null
  readonly found?: LoginFound
  /** What the new access token may have, of what was granted; left out: all of it. */
  readonly scope?: ReadonlySet<string> | undefined
}

/** Called when the login of a token that is not rotated at once is stored, even if it is revoked. */
export type LoginFound = (login: { readonly id: string; readonly username: string }) => void

/** Each further attempt means that another request changed the same family in between. */
const maxAttempts = 8

/** The token of this request, and its arrival. */
interface ReceivedToken extends Omit<RefreshTime, 'waitedMs'>, Pick<Refreshing, 'scope'> {
  readonly token: RefreshTokenContent
  /** By the monotonic clock. */
  readonly arrivedMs: number
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
export function createRefresh(systems: LoginSystems) {
  const retryWindowMs = systems.settings.refreshRetryWindowSeconds * 1000
  return async function refreshTokens(
    refreshToken: string,
    { clientId = null, found, scope, origin }: Refreshing = {},
  ): Promise<TokenResponse> {
    const now = systems.clock.now()
    const token = systems.refreshTokens.read(refreshToken)
    if (token?.clientId !== clientId) throw invalidGrant()
    const received = { token, now, scope, retryWindowMs, arrivedMs: systems.clock.monotonic() }
    const { beginning, during } = systems.audit
    const rotating = () => rotateAtOnce(systems, received)
    const acting = () => decideAndAct(systems, received, found)
    if (!origin) return (await rotating()) ?? acting()
    return (await beginning(origin, rotating)) ?? during(origin, undefined, acting)
  }
}

/** Reads the family, decides, and acts on the decision if the family is still the same then. */
async function decideAndAct(
  systems: LoginSystems,
  received: ReceivedToken,
  found: LoginFound | undefined,
): Promise<TokenResponse> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const family = await systems.refreshTokenFamilies.find(received.token.loginId)
    if (!family) throw invalidGrant()
    found?.(family)
    const response = await actOn(systems, family, received)
    if (response) return response
  }
  throw new Unavailable('database')
}

/**
 * The common case, by one statement: the token is the unused one, and the login outlives the new tokens. The token
 * tells all that they repeat of its family, and the statement compares that with the row. Undefined in any other case:
 * nothing has changed then.
 */
async function rotateAtOnce(systems: LoginSystems, received: ReceivedToken): Promise<TokenResponse | undefined> {
  const { token, now } = received
  if (token.expiresAt * 1000 <= now || (token.clientId !== null && token.endsAt === undefined)) return undefined
  const { loginId: id, username, generation, audience, clientId, counter, endsAt } = token
  const expiresAt = endsAt === undefined ? Number.POSITIVE_INFINITY : endsAt * 1000
  const login = { id, username, generation, audience, clientId, counter, endsAt, expiresAt }
  const rotated = await rotate(systems, login)
  return rotated && answer(systems, { ...rotated, login, scope: received.scope })
}

/** One attempt; undefined when another request changed the family in between. */
async function actOn(
  systems: LoginSystems,
  family: RefreshTokenFamily,
  received: ReceivedToken,
): Promise<TokenResponse | undefined> {
  const { now, retryWindowMs, arrivedMs } = received
  const waitedMs = systems.clock.monotonic() - arrivedMs
  const decision = decideRefresh(family, received.token, { now, retryWindowMs, waitedMs })
  switch (decision) {
    case 'rotate':
    case 'repeat': {
      const tokens = decision === 'rotate' ? await rotate(systems, family) : await repeat(systems, family, received)
      return tokens && answer(systems, { ...tokens, login: family, scope: received.scope })
    }
    case 'late':
    case 'reuse':
      await systems.revokeLogin({ id: family.id, username: family.username, reason: 'reuse' })
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

type Family = TokenLogin & Pick<RefreshTokenFamily, 'counter' | 'expiresAt'>

async function rotate(systems: LoginSystems, family: Family): Promise<NewTokens | undefined> {
  const now = systems.clock.now()
  const times = tokenTimes(systems.settings, unixSeconds(now), unixSeconds(family.expiresAt))
  const successor = family.counter + 1
  const endsAt = family.clientId === null ? undefined : unixSeconds(family.expiresAt)
  const login = { ...family, endsAt }
  const refreshToken = issueRefreshToken(systems.refreshTokens, login, { counter: successor, times })
  const sealed = systems.sealing.seal(refreshToken, refreshTokenData(family.id, successor))
  const rotation = { login: family, counter: family.counter, sealed, times, now }
  const rotated = await systems.refreshTokenFamilies.rotate(rotation)
  return rotated && { ...rotated, refreshToken, times }
}

async function repeat(
  systems: LoginSystems,
  family: Family,
  { token: { counter }, arrivedMs, retryWindowMs }: ReceivedToken,
): Promise<NewTokens | undefined> {
  const now = systems.clock.now()
  const times = tokenTimes(systems.settings, unixSeconds(now), unixSeconds(family.expiresAt))
  const { accessExpiresAt } = times
  const withinMs = retryWindowMs + systems.clock.monotonic() - arrivedMs
  const retry = { username: family.username, counter, withinMs, accessExpiresAt, now }
  const repeated = await systems.refreshTokenFamilies.repeat(family.id, retry)
  if (!repeated) return undefined
  const refreshToken = systems.sealing.open(repeated.sealed, refreshTokenData(family.id, counter + 1))
  const refreshExpiresAt = unixSeconds(repeated.refreshExpiresAt)
  const { proof, client, principal } = repeated
  return { refreshToken, times: { ...times, refreshExpiresAt }, proof, client, principal }
}

/** The response after the decision: signs the access token while the record is compared, and waits for both. */
async function answer(
  systems: LoginSystems,
  { login, scope, ...tokens }: NewTokens & { login: TokenLogin } & Pick<Refreshing, 'scope'>,
): Promise<TokenResponse> {
  const client = scope === undefined ? tokens.client : within(tokens.client, scope)
  const [response] = await Promise.all([
    tokenResponse(systems, login, { ...tokens, client }),
    publishIfOther(systems, tokens.principal, login),
  ])
  return response
}

/** The login of a client with no more than this scope (RFC 6749 §6). */
const within = (client: ClientLogin | null, scope: ReadonlySet<string>): ClientLogin | null =>
  client && {
    ...client,
    scopes: client.scopes.filter((name) => scope.has(name)),
    rights: client.rights?.filter((name) => scope.has(name)) ?? null,
  }

/**
 * Publishes the record where the cache has another one, as after a change in the database that no server made. Deal
 * servers know the record otherwise.
 */
async function publishIfOther(
  { publisher }: LoginSystems,
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
