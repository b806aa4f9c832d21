/**
 * The sessions of a deal server: from memory, then from the cache, then from the auth server. A revoked session changes
 * its user's principal record, so cached sessions are as fresh as the records. Only the auth server moves the time of
 * the last action.
 */
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import type { Traced } from '../../../shared/platform/trace-context.ts'
import type { Principals } from '../../../shared/protocol/authentication/authenticate.ts'
import { createCredentialCache, isCredentialCurrent } from '../../../shared/protocol/authentication/credential-cache.ts'
import type { Sessions } from '../../../shared/protocol/authentication/session/session.ts'
import {
  isOver,
  isStepDue,
  type KnownSession,
  knownSessionSchema,
  sessionCacheKey,
} from '../../../shared/protocol/authentication/session/session-times.ts'
import { questionOf } from '../../../shared/protocol/internal-api/exchange.ts'
import { type SessionQuestion, sessionExchange } from '../../../shared/protocol/internal-api/session.ts'
import type { FollowingSystems } from '../auth-client/auth-client.ts'
import type { PrincipalFeed } from '../principals/principal-feed.ts'

/** What cached sessions are followed with. */
interface FollowedSessions extends FollowingSystems {
  readonly feed: PrincipalFeed
  readonly principals: Principals
}

/** Bounds of the memory; one session takes less than 1 KB. */
const cacheBounds = { maxEntries: 100_000, maxBytes: 64_000_000 }

/** Makes the sessions of one deal server. */
export function createCachedSessions(followed: FollowedSessions, sessionIdleTtlSeconds: number): Sessions {
  const { principals, clock } = followed
  const idleTtlMs = sessionIdleTtlSeconds * 1000
  const known = createCredentialCache<KnownSession>({ principals, clock, ...cacheBounds })
  const isOverNow = (session: KnownSession) => isOver(session, clock.now(), idleTtlMs)
  const isDueNow = (session: KnownSession) => isStepDue(session, clock.now(), idleTtlMs)

  async function look(keyHash: string, traceContext?: Traced): Promise<KnownSession | undefined> {
    const load = async () => {
      const cached = await readCache(followed, keyHash)
      if (cached && !isOverNow(cached) && (await isCredentialCurrent(cached, principals, traceContext))) return cached
      return askAuthServer(followed, { keyHash, isAction: false }, traceContext)
    }
    const session = await known.get(keyHash, load, traceContext)
    if (!session || !isOverNow(session)) return session
    if (session.expiresAt <= clock.now()) return undefined
    // Another server may have moved the time of its last action.
    const reloaded = await known.renew(keyHash, load, traceContext)
    return reloaded && !isOverNow(reloaded) ? reloaded : undefined
  }

  /**
   * Reports an action; callers at the same time share the report. Without the auth server, only this server remembers
   * the action until the auth server responds.
   */
  async function step(
    keyHash: string,
    session: KnownSession,
    traceContext?: Traced,
  ): Promise<KnownSession | undefined> {
    try {
      const ask = () => askAuthServer(followed, { keyHash, isAction: true }, traceContext)
      return await known.renew(keyHash, ask, traceContext)
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      const moved = { ...session, lastUsedAt: clock.now() }
      known.replace(keyHash, session, moved)
      return moved
    }
  }

  async function findAndStep(keyHash: string, traceContext?: Traced): Promise<KnownSession | undefined> {
    const session = await look(keyHash, traceContext)
    return session && isDueNow(session) ? step(keyHash, session, traceContext) : session
  }

  function use(keyHash: string, traceContext?: Traced) {
    const session = known.peek(keyHash, traceContext)
    return session && !isOverNow(session) && !isDueNow(session) ? session : findAndStep(keyHash, traceContext)
  }

  return { look, use }
}

/** The session in the cache of the followed instance; undefined also when the cache cannot be read. */
async function readCache({ cache, feed }: FollowedSessions, keyHash: string): Promise<KnownSession | undefined> {
  const instanceId = feed.instanceId()
  if (instanceId === undefined) return undefined
  try {
    const entry = await cache.getVersioned(sessionCacheKey(instanceId, keyHash))
    return entry && knownSessionSchema.safeParse(JSON.parse(entry.value)).data
  } catch (error) {
    if (error instanceof Unavailable || error instanceof SyntaxError) return undefined
    throw error
  }
}

/** @throws Unavailable */
async function askAuthServer(
  { authClient }: FollowedSessions,
  question: SessionQuestion,
  traceContext: Traced | undefined,
): Promise<KnownSession | undefined> {
  const asked = questionOf(sessionExchange, { path: {}, body: question })
  const { status, body } = await authClient.ask({ ...asked, traceContext })
  const answer = status === 200 ? sessionExchange.responseBody.safeParse(body).data : undefined
  if (answer) return answer.session ?? undefined
  throw new Unavailable('auth-server', { cause: new Error(`/internal/sessions answered ${status}`) })
}
