/**
 * Principal records as the deal server holds them: memory, then the cache, then the auth server (DESIGN "Principal records and their
 * freshness"). While the feed is current and complete, memory and cache are believed; otherwise the auth server is asked, whose
 * answer is good for 500 ms; if it cannot be reached either, what is held is used for RECORD_MAX_AGE, and then there is no answer.
 * No record below the floor that the feed announced is ever used.
 */
import { LRUCache } from 'lru-cache'
import type { Cache } from '../../shared/cache/cache.ts'
import type { Clock } from '../../shared/clock.ts'
import { Unavailable } from '../../shared/errors.ts'
import {
  foldUsername,
  type PrincipalRecord,
  parsePrincipalRecord,
  principalKey,
} from '../../shared/principals/record.ts'
import type { Principals } from '../../shared/schemes/authenticate.ts'
import type { AuthClient } from './auth-client.ts'
import type { PrincipalFeed } from './principal-feed.ts'

export interface PrincipalRecordsPorts {
  readonly feed: PrincipalFeed
  readonly cache: Cache
  readonly authClient: Pick<AuthClient, 'principal'>
  readonly clock: Clock
  /** RECORD_MAX_AGE in milliseconds. */
  readonly recordMaxAgeMs: number
}

/** What is known of one user. */
interface Held {
  /** Undefined: the auth server said there is no such user. */
  readonly record: PrincipalRecord | undefined
  /** The feed's epoch before the load began. */
  readonly epoch: number
  /** When the load began, on the monotonic clock: the record is at least that new. */
  readonly asOf: number
}

interface Load {
  readonly startedAt: number
  readonly result: Promise<PrincipalRecord | undefined>
}

/** So many users' records are held, about 1 KB each. */
const maxHeld = 100_000
/** How long an answer of the auth server is good while the feed is not, in milliseconds. */
const answerGoodForMs = 500
/** How long "there is no such user" is believed: a creation is announced, so this only bounds the harm of a lost record. */
const unknownGoodForMs = 5_000
/** A load that was overtaken by changes this often gives up. */
const maxLoads = 4

/** The records of one deal server. */
export function createPrincipalRecords(ports: PrincipalRecordsPorts): Principals {
  const { feed, clock } = ports
  const held = new LRUCache<string, Held>({ max: maxHeld })
  const loads = new Map<string, Load>()

  /** Whether what is held may answer this very moment. */
  const isGood = (name: string, { record, epoch, asOf }: Held): boolean => {
    if (versionOf(record) < feed.floor(name)) return false
    const age = clock.monotonic() - asOf
    if (!feed.isCurrent()) return age <= answerGoodForMs
    return epoch === feed.epoch() && (record !== undefined || age <= unknownGoodForMs)
  }

  const leastVersion = (name: string) => Math.max(feed.floor(name), versionOf(held.get(name)?.record))

  const load = async (name: string): Promise<PrincipalRecord | undefined> => {
    for (let count = 0; count < maxLoads; count += 1) {
      const next = await fetchRecord(ports, name, leastVersion(name)).catch((error: unknown) => useHeld(name, error))
      // Messages, or a newer record, may have come while this one was on its way.
      if (versionOf(next.record) < leastVersion(name)) continue
      held.set(name, next)
      return next.record
    }
    throw new Unavailable('auth-server')
  }

  /** Nobody could be asked: what is held serves for a while, unless it is known to be outdated. */
  const useHeld = (name: string, error: unknown): Held => {
    const known = held.get(name)
    if (known?.record && versionOf(known.record) >= feed.floor(name)) {
      const confirmedAt = known.epoch === feed.epoch() ? Math.max(known.asOf, feed.lastCurrentAt()) : known.asOf
      if (clock.monotonic() - confirmedAt <= ports.recordMaxAgeMs) return known
    }
    throw error instanceof Unavailable ? error : new Unavailable('auth-server', { cause: error })
  }

  /** Callers share a load, but none that began long before they came. */
  const sharedLoad = (name: string): Promise<PrincipalRecord | undefined> => {
    const underWay = loads.get(name)
    if (underWay && clock.monotonic() - underWay.startedAt <= answerGoodForMs) return underWay.result
    const started: Load = { startedAt: clock.monotonic(), result: load(name) }
    loads.set(name, started)
    const forget = () => {
      if (loads.get(name) === started) loads.delete(name)
    }
    started.result.then(forget, forget)
    return started.result
  }

  return {
    get: (username) => {
      const name = foldUsername(username)
      const known = held.get(name)
      return known && isGood(name, known) ? known.record : sharedLoad(name)
    },
  }
}

const versionOf = (record: PrincipalRecord | undefined): number => record?.version ?? 0

/** The cache's record, if the feed is current and stays complete meanwhile and it is new enough; else the auth server's. */
async function fetchRecord(
  { feed, cache, authClient, clock }: PrincipalRecordsPorts,
  name: string,
  atLeast: number,
): Promise<Held> {
  const epoch = feed.epoch()
  const asOf = clock.monotonic()
  const cached = feed.isCurrent() ? await readCache(cache, name) : undefined
  const canBelieve = cached && versionOf(cached) >= atLeast && feed.isCurrent() && feed.epoch() === epoch
  return { record: canBelieve ? cached : await authClient.principal(name), epoch, asOf }
}

/** The cached record; undefined also when the cache does not answer: the auth server is asked next. */
async function readCache(cache: Cache, name: string): Promise<PrincipalRecord | undefined> {
  try {
    const entry = await cache.getVersioned(principalKey(name))
    return entry && parsePrincipalRecord(entry.value)
  } catch {
    return undefined
  }
}
