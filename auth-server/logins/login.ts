import { type Clock, unixSeconds } from '../../shared/platform/clock.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { IssueAccessToken } from '../tokens/access-tokens.ts'
import type { RefreshTokens } from '../tokens/refresh-tokens.ts'
import type { LoginGeneration } from '../users/principal-change.ts'
import { issueRefreshToken, type TokenResponse, tokenResponse } from './issue-tokens.ts'
import { type Displaced, type MakeRoomPorts, makeRoom } from './make-room.ts'
import type { RefreshTokenFamilies } from './refresh-token-families.ts'
import { type LoginLifetimes, tokenTimes } from './refresh-token-family.ts'
import {
  type PasswordAttempt,
  type PasswordHolder,
  rehashPassword,
  type VerifyPasswordPorts,
  verifyPassword,
} from './verify-password.ts'

/** How many revoked ids of a user are remembered, without displaced logins (docs/contract.md#logins-per-user). */
export const maxRevokedIds = 1000

/** How often a login starts again because the user was changed during the check of the password. */
const maxAttempts = 3

const maxUserAgentLength = 256

/** The stored form of a user agent: without NUL, and shortened. */
export const storedUserAgent = (userAgent: string | undefined): string | undefined =>
  userAgent?.replaceAll('\0', '').slice(0, maxUserAgentLength)

/** A request to log in. */
export interface LoginRequest extends PasswordAttempt {
  readonly userAgent?: string | undefined
  /** Called with the user's id when the login has started. */
  readonly proved?: (userId: string) => void
  /** Called with the logins that this one displaced, before the response. An error that it throws is passed on. */
  readonly onDisplaced?: (displaced: Displaced, username: string) => Promise<void>
}

/** The systems and settings that a login uses. */
export interface LoginPorts extends VerifyPasswordPorts, MakeRoomPorts {
  readonly refreshTokenFamilies: RefreshTokenFamilies
  readonly issueAccessToken: IssueAccessToken
  readonly refreshTokens: RefreshTokens
  readonly lifetimes: LoginLifetimes
  readonly clock: Clock
  readonly ids: IdSource
}

/**
 * Logs in with name and password.
 *
 * @throws ProblemError `invalid-credentials`, with the same content and after the same time, for an unknown user, a
 *   wrong password, a disabled user and a user without a password; `too-many-attempts`; `too-many-logins` when too many
 *   revoked ids of the user are still remembered
 * @throws Unavailable
 */
export type LogIn = (request: LoginRequest) => Promise<TokenResponse>

/** Creates the login over these ports. */
export const createLogIn =
  (ports: LoginPorts): LogIn =>
  (request) =>
    proveAndStart(ports, request, (holder) => startLogin(ports, holder, request))

/** A login or session that has started, with the result for the client. */
export interface Started<Result> {
  readonly login: LoginGeneration
  readonly result: Result
}

/**
 * Checks the password, starts a login or session with `start`, and revokes the oldest logins above the limit. `start`
 * returns undefined when the user was changed since the check.
 * @throws ProblemError as `LogIn`; Unavailable
 */
export async function proveAndStart<Result>(
  ports: VerifyPasswordPorts & MakeRoomPorts & Pick<LoginPorts, 'refreshTokenFamilies'>,
  request: LoginRequest,
  start: (holder: PasswordHolder) => Promise<Started<Result> | undefined>,
): Promise<Result> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const holder = await verifyPassword(ports, request)
    if (!holder) break
    await refuseTooManyLogins(ports, holder)
    const started = await start(holder)
    if (started) {
      const { userId, username } = holder
      request.proved?.(userId)
      const displaced = await makeRoom(ports, { userId, username, login: started.login })
      if (displaced.length > 0) await request.onDisplaced?.(displaced, username)
      await rehashPassword(ports, holder, request.password)
      return started.result
    }
  }
  throw new ProblemError('invalid-credentials', 'The user name or the password is not right.')
}

async function startLogin(
  ports: LoginPorts,
  holder: PasswordHolder,
  { clientAddress, userAgent }: LoginRequest,
): Promise<Started<TokenResponse> | undefined> {
  const issuedAt = unixSeconds(ports.clock.now())
  const expiresAt = issuedAt + ports.lifetimes.loginMaxTtlSeconds
  const times = tokenTimes(ports.lifetimes, issuedAt, expiresAt)
  const id = ports.ids.uuid()
  const started = await ports.refreshTokenFamilies.start({
    id,
    userId: holder.userId,
    passwordHash: holder.passwordHash,
    expiresAt,
    times,
    clientAddress,
    userAgent: storedUserAgent(userAgent),
  })
  if (!started) return undefined
  const login = { id, username: holder.username, generation: started.generation }
  const refreshToken = issueRefreshToken(ports.refreshTokens, login, { counter: 0, times })
  return { login, result: await tokenResponse(ports.issueAccessToken, login, { refreshToken, times }) }
}

async function refuseTooManyLogins(
  { refreshTokenFamilies, clock }: Pick<LoginPorts, 'refreshTokenFamilies' | 'clock'>,
  { userId }: PasswordHolder,
): Promise<void> {
  const now = clock.now()
  const { count, firstExpiry } = await refreshTokenFamilies.revokedIds(userId, now)
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
