/**
 * Sessions as the deal server knows them: memory, then the cache, then the auth server. An ended session is a change of its user's
 * principal record, so what is held here is no staler than that. The auth server alone moves the last-action time.
 */

import type { Cache } from '../../shared/platform/cache/cache.ts'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Traced } from '../../shared/platform/http/trace.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { Principals } from '../../shared/protocol/authentication/authenticate.ts'
import { createCredentialCache, isCurrent } from '../../shared/protocol/authentication/credential-cache.ts'
import type { Sessions } from '../../shared/protocol/authentication/session/session.ts'
import {
  isOver,
  isStepDue,
  type KnownSession,
  knownSessionSchema,
  sessionCacheKey,
} from '../../shared/protocol/authentication/session/session-times.ts'
import { questionOf } from '../../shared/protocol/internal-api/exchange.ts'
import { type SessionQuestion, sessionExchange } from '../../shared/protocol/internal-api/session.ts'
import type { AuthClient } from './auth-client.ts'
import type { PrincipalFeed } from './principal-feed.ts'

export interface CachedSessionsPorts {
  readonly principals: Principals
  readonly feed: Pick<PrincipalFeed, 'instanceId'>
  readonly cache: Pick<Cache, 'getVersioned'>
  readonly authClient: Pick<AuthClient, 'ask'>
  readonly clock: Clock
  /** SESSION_IDLE_TTL. */
  readonly sessionIdleTtlSeconds: number
}

/** So many sessions are held, less than 1 KB each. */
const cacheBounds = { maxEntries: 100_000, maxBytes: 64_000_000 }

/** The sessions of one deal server. */
export function createCachedSessions(ports: CachedSessionsPorts): Sessions {
  const { principals, clock } = ports
  const idleTtlMs = ports.sessionIdleTtlSeconds * 1000
  const held = createCredentialCache<KnownSession>({ principals, clock, ...cacheBounds })
  const steps = new Map<string, Promise<KnownSession | undefined>>()
  const isOverNow = (session: KnownSession) => isOver(session, clock.now(), idleTtlMs)

  const look = async (keyHash: string, traceContext?: Traced): Promise<KnownSession | undefined> => {
    const load = async () => {
      const cached = await readCache(ports, keyHash)
      if (cached && !isOverNow(cached) && (await isCurrent(cached, principals, traceContext))) return cached
      return askAuthServer(ports, { keyHash, isAction: false }, traceContext)
    }
    const known = await held.get(keyHash, load, traceContext)
    if (!known || !isOverNow(known)) return known
    if (known.expiresAt <= clock.now()) return undefined
    // Its last-action time may have been moved by way of another server.
    held.delete(keyHash)
    const anew = await held.get(keyHash, load, traceContext)
    return anew && !isOverNow(anew) ? anew : undefined
  }

  /** Where the auth server cannot be asked, an action is known here at least, until it can. */
  const step = async (
    keyHash: string,
    session: KnownSession,
    traceContext?: Traced,
  ): Promise<KnownSession | undefined> => {
    try {
      const moved = await askAuthServer(ports, { keyHash, isAction: true }, traceContext)
      if (moved) held.set(keyHash, moved)
      else held.delete(keyHash)
      return moved
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      const moved = { ...session, lastUsedAt: clock.now() }
      held.set(keyHash, moved)
      return moved
    }
  }

  const lookAndStep = async (keyHash: string, traceContext?: Traced): Promise<KnownSession | undefined> => {
    const session = await look(keyHash, traceContext)
    if (!session || !isStepDue(session, clock.now(), idleTtlMs)) return session
    const underWay = steps.get(keyHash)
    if (underWay) return underWay
    const started = step(keyHash, session, traceContext).finally(() => steps.delete(keyHash))
    steps.set(keyHash, started)
    return started
  }

  return {
    look,
    use: (keyHash, traceContext) => {
      const known = held.peek(keyHash, traceContext)
      const isEnough = known && !isOverNow(known) && !isStepDue(known, clock.now(), idleTtlMs)
      return isEnough ? known : lookAndStep(keyHash, traceContext)
    },
  }
}

/** What the cache has, if it can be read and is of the instance that is followed. */
async function readCache({ cache, feed }: CachedSessionsPorts, keyHash: string): Promise<KnownSession | undefined> {
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
  { authClient }: CachedSessionsPorts,
  question: SessionQuestion,
  traceContext: Traced | undefined,
): Promise<KnownSession | undefined> {
  const asked = questionOf(sessionExchange, { path: {}, body: question })
  const { status, body } = await authClient.ask({ ...asked, traceContext })
  const answer = status === 200 ? sessionExchange.responseBody.safeParse(body).data : undefined
  if (answer) return answer.session ?? undefined
  throw new Unavailable('auth-server', { cause: new Error(`/internal/sessions answered ${status}`) })
}
