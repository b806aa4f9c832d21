import { isUnwritable } from '../../shared/platform/database/database.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { Sessions } from '../../shared/protocol/authentication/session/session.ts'
import {
  isOver,
  isStepDue,
  type KnownSession,
  sessionCacheKey,
} from '../../shared/protocol/authentication/session/session-times.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import type { OfInstance, SessionStore } from './session-store.ts'

/** Sessions in the database. Only this code moves the last-action time. */
export interface StoredSessions extends Sessions {
  /** Puts the session into the cache for deal servers of its instance. Does nothing while the cache is away. */
  remember(keyHash: string, found: OfInstance<KnownSession>): Promise<void>
  /** The session, for an action or without one, which is then in the cache too. @throws Unavailable */
  share(keyHash: string, isAction: boolean): Promise<KnownSession | undefined>
}

/** Creates the sessions over these systems. */
export function createStoredSessions(
  { cache, clock }: AuthSystems,
  {
    sessionStore,
    sessionIdleTtlSeconds,
  }: { readonly sessionStore: SessionStore; readonly sessionIdleTtlSeconds: number },
): StoredSessions {
  const idleTtlMs = sessionIdleTtlSeconds * 1000

  const find = async (keyHash: string): Promise<OfInstance<KnownSession> | undefined> => {
    const found = await sessionStore.find(keyHash)
    return found && !isOver(found.session, clock.now(), idleTtlMs) ? found : undefined
  }

  const remember = async (keyHash: string, { session, instanceId }: OfInstance<KnownSession>): Promise<void> => {
    const endsAt = Math.min(session.expiresAt, session.lastUsedAt + idleTtlMs)
    const ttlSeconds = Math.ceil((endsAt - clock.now()) / 1000)
    if (ttlSeconds <= 0) return
    try {
      const key = sessionCacheKey(instanceId, keyHash)
      await cache.putVersioned(key, { version: session.version, value: JSON.stringify(session) }, { ttlSeconds })
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
    }
  }

  /** A session stays good when its use cannot be stored: it only ends earlier then. */
  const move = async (keyHash: string, now: number): Promise<boolean | 'unwritable'> => {
    try {
      return await sessionStore.move(keyHash, { now, idleSince: now - idleTtlMs })
    } catch (error) {
      if (isUnwritable(error)) return 'unwritable'
      throw error
    }
  }

  const use = async (keyHash: string): Promise<OfInstance<KnownSession> | undefined> => {
    const found = await find(keyHash)
    const now = clock.now()
    if (!found || !isStepDue(found.session, now, idleTtlMs)) return found
    const isMoved = await move(keyHash, now)
    if (isMoved === 'unwritable') return found
    if (!isMoved) return find(keyHash)
    const moved = { ...found, session: { ...found.session, lastUsedAt: now } }
    await remember(keyHash, moved)
    return moved
  }

  return {
    remember,
    look: async (keyHash) => (await find(keyHash))?.session,
    use: async (keyHash) => (await use(keyHash))?.session,
    share: async (keyHash, isAction) => {
      const found = await (isAction ? use(keyHash) : find(keyHash))
      if (found) await remember(keyHash, found)
      return found?.session
    },
  }
}
