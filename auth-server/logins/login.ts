import { unixSeconds } from '../../shared/platform/clock.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { LoginGeneration } from '../principals/principal-change.ts'
import type { PasswordHolder, SecondFactorAnswer } from '../second-factors/ask-at-login.ts'
import { invalidFactor } from '../second-factors/ask-at-login.ts'
import { issueRefreshToken, type TokenResponse, tokenResponse } from './issue-tokens.ts'
import type { LoginSystems } from './login-systems.ts'
import { makeRoom } from './make-room.ts'
import { tokenTimes } from './refresh-token-family.ts'
import { type PasswordAttempt, rehashPassword, verifyPassword } from './verify-password.ts'

/** How many revoked ids of a user are remembered, without displaced ones (docs/contract/logins.md#logins-per-user). */
export const maxRevokedIds = 1000

/** How often a login starts again because the user was changed during the check of the password. */
const maxAttempts = 3

const maxUserAgentLength = 256

/** The stored form of a user agent: without NUL, and shortened. */
export const storedUserAgent = (userAgent: string | undefined): string | undefined =>
  userAgent?.replaceAll('\0', '').slice(0, maxUserAgentLength)

/** A request to log in. */
export interface LoginRequest extends Omit<PasswordAttempt, 'password'> {
  /** Undefined: the challenge in `answer` stands for it. */
  readonly password: string | undefined
  /** The second factor, or the part of it that the request has. */
  readonly answer?: SecondFactorAnswer
  readonly userAgent?: string | undefined
  /** The audience of what is issued; null: that of the pair. */
  readonly audience: string | null
  /** Called with the user's id when the login has started. */
  readonly proved?: (userId: string) => void
}

/**
 * Logs in with name and password, and with a second factor where the user needs one.
 *
 * @throws ProblemError `invalid-credentials`, with the same content and after the same time, for an unknown user, a
 *   wrong password, a disabled user and a user without a password; `too-many-attempts`; `too-many-logins` when too many
 *   revoked ids of the user are still remembered; those of the second factor (`second-factors/ask-at-login.ts`)
 * @throws Unavailable
 */
export const createLogIn =
  (systems: LoginSystems) =>
  (request: LoginRequest): Promise<TokenResponse> =>
    proveAndStart(systems, request, (holder, factor) => startLogin(systems, { ...holder, factor }, request))

/** A login or session that has started, with the result for the client. */
export interface Started<Result> {
  readonly login: LoginGeneration
  readonly result: Result
}

/**
 * Checks password and second factor, starts a login or session with `start`, and revokes the oldest logins above the
 * limit. `start` returns undefined when the user was changed since the check. A factor is used once, so later attempts
 * of the same request go on with it.
 * @throws ProblemError as `createLogIn`; Unavailable
 */
export async function proveAndStart<Result>(
  systems: LoginSystems,
  request: LoginRequest,
  start: (holder: PasswordHolder, factor: string | null) => Promise<Started<Result> | undefined>,
): Promise<Result> {
  let given: { readonly userId: string; readonly factor: string } | undefined
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const holder = await holderOf(systems, request)
    if (!holder) break
    await refuseTooManyLogins(systems, holder)
    const { userId } = holder
    const known = given?.userId === userId ? given.factor : undefined
    const factor = known ?? (await systems.secondFactors.require(holder, { answer: {}, ...request }))
    if (factor === undefined) continue
    given = factor === null ? undefined : { userId, factor }
    const started = await start(holder, factor)
    if (started) {
      await afterStart(systems, request, { holder, login: started.login })
      return started.result
    }
  }
  if (request.password === undefined) throw invalidFactor()
  throw new ProblemError('invalid-credentials', 'The user name or the password is not right.')
}

/** The user whose password the request, or its challenge, proves. */
async function holderOf(systems: LoginSystems, request: LoginRequest): Promise<PasswordHolder | undefined> {
  const { password, answer } = request
  if (password !== undefined) return verifyPassword(systems, { ...request, password })
  return answer?.challenge === undefined ? undefined : systems.secondFactors.resume(answer.challenge)
}

async function afterStart(
  systems: LoginSystems,
  request: LoginRequest,
  { holder, login }: { readonly holder: PasswordHolder; readonly login: LoginGeneration },
): Promise<void> {
  const { userId, username } = holder
  request.proved?.(userId)
  await makeRoom(systems, { userId, username, login })
  if (request.password !== undefined) await rehashPassword(systems, holder, request.password)
}

async function startLogin(
  systems: LoginSystems,
  holder: PasswordHolder & { readonly factor: string | null },
  { clientAddress, userAgent, audience }: LoginRequest,
): Promise<Started<TokenResponse> | undefined> {
  const issuedAt = unixSeconds(systems.clock.now())
  const expiresAt = issuedAt + systems.settings.loginMaxTtlSeconds
  const times = tokenTimes(systems.settings, issuedAt, expiresAt)
  const id = systems.ids.uuid()
  const started = await systems.refreshTokenFamilies.start({
    id,
    userId: holder.userId,
    passwordHash: holder.passwordHash,
    factor: holder.factor,
    audience,
    expiresAt,
    times,
    clientAddress,
    userAgent: storedUserAgent(userAgent),
  })
  if (!started) return undefined
  const login = { id, username: holder.username, generation: started.generation, audience, clientId: null }
  const refreshToken = issueRefreshToken(systems.refreshTokens, login, { counter: 0, times })
  const proof = { at: issuedAt, factor: holder.factor }
  const result = await tokenResponse(systems, login, { refreshToken, times, proof, client: null })
  return { login, result }
}

/**
 * Bounds the ended logins of a user that records name. Displaced logins count for clients alone (`ofClients`): what
 * displaces them never locks the user out. @throws ProblemError `too-many-logins`; Unavailable
 */
export async function refuseTooManyLogins(
  { refreshTokenFamilies, clock }: Pick<LoginSystems, 'refreshTokenFamilies' | 'clock'>,
  { userId, ofClients = false }: Pick<PasswordHolder, 'userId'> & { readonly ofClients?: boolean },
): Promise<void> {
  const now = clock.now()
  const { count, firstExpiry } = await refreshTokenFamilies.revokedIds(userId, { now, ofClients })
  if (count < maxRevokedIds) return
  const retryAfterSeconds = Math.max(1, Math.ceil(((firstExpiry ?? now) - now) / 1000))
  throw new ProblemError(
    'too-many-logins',
    'Too many logins of this user have ended within the lifetime of their tokens.',
    {
      retryAfterSeconds,
    },
  )
}
