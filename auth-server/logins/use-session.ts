import type { Cache } from '../../shared/platform/cache/cache.ts'
import type { Clock } from '../../shared/platform/clock.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { Sessions } from '../../shared/protocol/authentication/session/session.ts'
import {
  isOver,
  isStepDue,
  type KnownSession,
  sessionCacheKey,
} from '../../shared/protocol/authentication/session/session-times.ts'
import type { SessionStore } from './session-store.ts'

/** The systems and the setting that sessions use. */
export interface UseSessionPorts {
  readonly sessionStore: SessionStore
  readonly cache: Pick<Cache, 'putVersioned'>
  readonly publisher: { instanceId(): Promise<string> }
  readonly clock: Clock
  /** SESSION_IDLE_TTL. */
  readonly sessionIdleTtlSeconds: number
}

/** Sessions in the database. Only this code moves the last-action time. */
export interface StoredSessions extends Sessions {
  /** Puts the session into the cache for deal servers. Does nothing while the cache is away. */
  remember(keyHash: string, session: KnownSession): Promise<void>
}

/** Creates the sessions over these ports. */
export function createStoredSessions(ports: UseSessionPorts): StoredSessions {
  const { sessionStore, cache, publisher, clock } = ports
  const idleTtlMs = ports.sessionIdleTtlSeconds * 1000

  const look = async (keyHash: string): Promise<KnownSession | undefined> => {
    const session = await sessionStore.find(keyHash)
    return session && !isOver(session, clock.now(), idleTtlMs) ? session : undefined
  }

  const remember = async (keyHash: string, session: KnownSession): Promise<void> => {
    const endsAt = Math.min(session.expiresAt, session.lastUsedAt + idleTtlMs)
    const ttlSeconds = Math.ceil((endsAt - clock.now()) / 1000)
    if (ttlSeconds <= 0) return
    try {
      const key = sessionCacheKey(await publisher.instanceId(), keyHash)
      await cache.putVersioned(key, { version: session.version, value: JSON.stringify(session) }, { ttlSeconds })
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
    }
  }

  return {
    look,
    remember,
    use: async (keyHash) => {
      const session = await look(keyHash)
      const now = clock.now()
      if (!session || !isStepDue(session, now, idleTtlMs)) return session
      if (!(await sessionStore.move(keyHash, { now, idleSince: now - idleTtlMs }))) return look(keyHash)
      const moved = { ...session, lastUsedAt: now }
      await remember(keyHash, moved)
      return moved
    },
  }
}
