import { type Clock, unixSeconds } from '../../shared/platform/clock.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { IssueAccessToken } from '../tokens/access-tokens.ts'
import type { RefreshTokens } from '../tokens/refresh-tokens.ts'
import type { LoginGeneration } from '../users/principal-change.ts'
import { answerWith, issueRefreshToken, type TokenResponse } from './issue-tokens.ts'
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

/** So many ended logins of a user are remembered (docs/contract.md#logins-per-user), beside those that made room for others. */
export const maxRevokedIds = 1000

/** How often a login starts over because the user was changed while the password was being checked. */
const maxAttempts = 3

const maxUserAgentLength = 256

/** A user agent as it is stored. */
export const storedUserAgent = (userAgent: string | undefined): string | undefined =>
  userAgent?.replaceAll('\0', '').slice(0, maxUserAgentLength)

/** A login as it arrives. */
export interface LoginRequest extends PasswordAttempt {
  readonly userAgent?: string | undefined
  /** Told who it is once the login has started. */
  readonly proved?: (userId: string) => void
  /** Told which logins ended to make room for this one, before it is answered. What it throws comes out. */
  readonly onDisplaced?: (displaced: Displaced, username: string) => Promise<void>
}

/** What a login needs. */
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
 * @throws ProblemError `invalid-credentials`, the same in content and time, for an unknown user, a wrong password, a disabled user and one
 *   without a password; `too-many-attempts`; `too-many-logins` when too many ended logins of the user are still remembered
 * @throws Unavailable
 */
export type LogIn = (request: LoginRequest) => Promise<TokenResponse>

/** Login over these ports. */
export const createLogIn =
  (ports: LoginPorts): LogIn =>
  (request) =>
    proveAndStart(ports, request, (holder) => startLogin(ports, holder, request))

/** What has begun, and what is answered. */
export interface Started<Result> {
  readonly login: LoginGeneration
  readonly result: Result
}

/**
 * Checks the password, starts what the login is for, and makes room for it; `start` answers undefined when the user was changed since.
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
  throw new ProblemError('invalid-credentials', 'the user name or the password is not right')
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
  const refreshToken = await issueRefreshToken(ports.refreshTokens, login, { counter: 0, times })
  return { login, result: await answerWith(ports.issueAccessToken, login, { refreshToken, times }) }
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
    'too many logins of this user have ended within the lifetime of their tokens',
    {
      retryAfterSeconds,
    },
  )
}
