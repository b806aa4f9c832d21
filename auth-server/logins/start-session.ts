import type { Clock } from '../../shared/platform/clock.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import {
  isSessionKey,
  sessionKeyBytes,
  sessionKeyHash,
} from '../../shared/protocol/authentication/session/session-times.ts'
import { type LoginRequest, type ProvePorts, proveAndStart, type Started, storedUserAgent } from './login.ts'
import type { RevokeLogin } from './revoke-login.ts'
import type { SessionStore } from './session-store.ts'
import type { StoredSessions } from './use-session.ts'
import type { PasswordHolder } from './verify-password.ts'

/** The systems and the setting that the start of a session uses. */
export interface StartSessionPorts extends ProvePorts {
  readonly sessionStore: SessionStore
  readonly sessions: Pick<StoredSessions, 'remember'>
  readonly revokeLogin: RevokeLogin
  readonly clock: Clock
  readonly ids: IdSource
  /** SESSION_MAX_TTL. */
  readonly sessionMaxTtlSeconds: number
}

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

/**
 * Starts a session for a user name and password, always with a new key, and revokes the sessions in `replacedKeys`.
 * @throws ProblemError as `LogIn`; Unavailable
 */
export type StartSession = (request: SessionRequest) => Promise<StartedSession>

/** How many replaced keys are looked up. A browser sends one. */
const maxReplaced = 2

/** Creates the start of sessions over these ports. */
export const createStartSession =
  (ports: StartSessionPorts): StartSession =>
  (request) =>
    proveAndStart(ports, request, (holder, factor) => start(ports, { ...holder, factor }, request))

async function start(
  ports: StartSessionPorts,
  { userId, username, passwordHash, factor }: PasswordHolder & { readonly factor: string | null },
  { clientAddress, userAgent, audience, replacedKeys }: SessionRequest,
): Promise<Started<StartedSession> | undefined> {
  const { sessionStore, sessions, clock, ids, sessionMaxTtlSeconds } = ports
  const [id, key, createdAt] = [ids.uuid(), ids.secret(sessionKeyBytes), clock.now()]
  const keyHash = sessionKeyHash(key)
  const expiresAt = createdAt + sessionMaxTtlSeconds * 1000
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
    if (owner) await ports.revokeLogin({ ...owner, reason: 'replaced' })
  }
  return { login: { id, generation: started.generation }, result: { id, key, username, expiresAt } }
}
