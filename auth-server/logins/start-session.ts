import {
  isSessionKey,
  sessionKeyBytes,
  sessionKeyHash,
} from '../../shared/protocol/authentication/session/session-times.ts'
import type { PasswordHolder } from '../second-factors/ask-at-login.ts'
import { type LoginRequest, proveAndStart, type Started, storedUserAgent } from './login.ts'
import type { LoginSystems } from './login-systems.ts'

/** A request to sign in. */
export interface SessionRequest extends LoginRequest {
  /** Session keys in the cookies of the request. A new sign-in revokes their sessions. */
  readonly replacedKeys: readonly string[]
}

/** A session that has just started. */
export interface StartedSession {
  /** The public id. */
  readonly id: string
  /** The session key. It is stored nowhere. */
  readonly key: string
  readonly username: string
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

/** How many replaced keys are looked up. A browser sends one. */
const maxReplaced = 2

/**
 * Starts a session for a user name and password, always with a new key, and revokes the sessions in `replacedKeys`.
 * @throws ProblemError as `createLogIn`; Unavailable
 */
export const createStartSession =
  (systems: LoginSystems) =>
  (request: SessionRequest): Promise<StartedSession> =>
    proveAndStart(systems, request, (holder, factor) => start(systems, { ...holder, factor }, request))

async function start(
  systems: LoginSystems,
  { userId, username, passwordHash, factor }: PasswordHolder & { readonly factor: string | null },
  { clientAddress, userAgent, audience, replacedKeys }: SessionRequest,
): Promise<Started<StartedSession> | undefined> {
  const { sessionStore, sessions, clock, ids, settings } = systems
  const [id, key, createdAt] = [ids.uuid(), ids.secret(sessionKeyBytes), clock.now()]
  const keyHash = sessionKeyHash(key)
  const expiresAt = createdAt + settings.sessionMaxTtlSeconds * 1000
  const begun = await sessionStore.start({
    id,
    keyHash,
    userId,
    passwordHash,
    factor,
    audience,
    createdAt,
    expiresAt,
    clientAddress,
    userAgent: storedUserAgent(userAgent),
  })
  if (!begun) return undefined
  const { session: started, instanceId } = begun
  const session = { id, username, userId, ...started, audience, lastUsedAt: createdAt, expiresAt }
  await sessions.remember(keyHash, { session, instanceId })
  for (const former of replacedKeys.filter(isSessionKey).slice(0, maxReplaced)) {
    const owner = await sessionStore.ownerOf(sessionKeyHash(former))
    if (!owner) continue
    if (owner.username === username) await systems.sessionStore.inherit({ from: owner.id, to: id })
    await systems.revokeLogin({ ...owner, reason: 'replaced' })
  }
  return { login: { id, generation: started.generation }, result: { id, key, username, expiresAt } }
}
