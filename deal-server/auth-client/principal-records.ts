/**
 * Principal records as the deal server holds them: memory, then the cache, then the auth server (DESIGN "Principal records and their
 * freshness"). While the feed is current and complete, memory and cache are believed; otherwise the auth server is asked, whose
 * answer is good for 500 ms; if it cannot be reached either, what is held is used for RECORD_MAX_AGE, or what the cache has if that
 * is newer, and then there is no answer. No record below a version that the feed announced is ever used, and none of another
 * installation than the one that the feed follows.
 */
import { createBoundedCache } from '../../shared/platform/cache/bounded-cache.ts'
import type { Cache } from '../../shared/platform/cache/cache.ts'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Traced } from '../../shared/platform/http/trace.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { Principals } from '../../shared/protocol/authentication/authenticate.ts'
import type { InstalledPrincipal } from '../../shared/protocol/principal/record.ts'
import {
  foldUsername,
  type PrincipalRecord,
  parsePrincipalRecord,
  principalKey,
} from '../../shared/protocol/principal/record.ts'
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
  readonly installationId: string
  /** Undefined: the auth server said there is no such user. */
  readonly record: PrincipalRecord | undefined
  /** The version that was announced or seen: the record is of no use if it is older. */
  readonly atLeast: number
  /** True since it was announced again: a refresh has read it anew, and may have found another one under the same version. */
  readonly isOutdated: boolean
  /** The feed's epoch before the load began. */
  readonly epoch: number
  /** When the load began, on the monotonic clock: the record is at least that new. */
  readonly asOf: number
  /** Until when it is good though the feed is not. */
  readonly goodUntil: number
}

interface Load {
  readonly startedAt: number
  readonly result: Promise<PrincipalRecord | undefined>
}

/** So many users' records are held, 1 to 2 KB each. */
const heldBounds = { maxEntries: 100_000, maxBytes: 128_000_000 }
/** How long an answer of the auth server is good while the feed is not, in milliseconds. */
const answerGoodForMs = 500
/** How long "there is no such user" is believed: a creation is announced, so this only bounds the harm of a lost record. */
const unknownGoodForMs = 5_000
/** A load that was overtaken by changes this often gives up. */
const maxLoads = 4

/** The records of one deal server. */
export function createPrincipalRecords(ports: PrincipalRecordsPorts): Principals {
  return new PrincipalRecords(ports)
}

class PrincipalRecords implements Principals {
  readonly #ports: PrincipalRecordsPorts
  readonly #held = createBoundedCache<Held>(heldBounds)
  readonly #loads = new Map<string, Load>()

  constructor(ports: PrincipalRecordsPorts) {
    this.#ports = ports
    // Floors do not last: what is held must not outlive the one it lies below.
    ports.feed.onChange((name, version) => {
      const known = this.#held.get(name)
      if (known) this.#held.set(name, { ...known, isOutdated: true, atLeast: Math.max(known.atLeast, version) })
    })
    ports.feed.onOtherInstallation(() => this.#held.clear())
  }

  onOtherInstallation(listener: () => void): void {
    this.#ports.feed.onOtherInstallation(listener)
  }

  get(username: string, onBehalfOf?: Traced): Promise<PrincipalRecord | undefined> | PrincipalRecord | undefined {
    const name = foldUsername(username)
    const known = this.#held.get(name)
    return known && this.#isGood(known) ? known.record : this.#sharedLoad(name, onBehalfOf)
  }

  /** Whether what is held may answer this very moment. */
  #isGood({ record, atLeast, isOutdated, epoch, asOf, goodUntil }: Held): boolean {
    const { feed, clock } = this.#ports
    if (isOutdated || versionOf(record) < atLeast) return false
    const now = clock.monotonic()
    if (!feed.isCurrent()) return now <= goodUntil
    return epoch === feed.epoch() && (record !== undefined || now - asOf <= unknownGoodForMs)
  }

  #leastVersion(name: string): number {
    const known = this.#held.get(name)
    return Math.max(this.#ports.feed.floor(name), known?.atLeast ?? 0, versionOf(known?.record))
  }

  /** Callers share a load, but none that began long before they came. It is on behalf of the first. */
  #sharedLoad(name: string, onBehalfOf: Traced | undefined): Promise<PrincipalRecord | undefined> {
    const now = this.#ports.clock.monotonic()
    const underWay = this.#loads.get(name)
    if (underWay && now - underWay.startedAt <= answerGoodForMs) return underWay.result
    const started: Load = { startedAt: now, result: this.#load(name, onBehalfOf) }
    this.#loads.set(name, started)
    const forget = () => {
      if (this.#loads.get(name) === started) this.#loads.delete(name)
    }
    started.result.then(forget, forget)
    return started.result
  }

  async #load(name: string, onBehalfOf: Traced | undefined): Promise<PrincipalRecord | undefined> {
    for (let count = 0; count < maxLoads; count += 1) {
      const asked = fetchRecord(this.#ports, { name, atLeast: this.#leastVersion(name), onBehalfOf })
      const next = await asked.catch((error: unknown) => this.#useHeld(name, error))
      // Messages, a newer record, or another database may have come while this one was on its way.
      if (next.installationId !== this.#ports.feed.installationId()) continue
      if (versionOf(next.record) < this.#leastVersion(name)) continue
      this.#held.set(name, next)
      return next.record
    }
    throw new Unavailable('auth-server')
  }

  /** Nobody could be asked: what is held serves for a while, or what the cache has instead, unless known to be outdated. */
  async #useHeld(name: string, error: unknown): Promise<Held> {
    const { feed, cache, clock, recordMaxAgeMs } = this.#ports
    const cached = this.#held.has(name) ? await readCache({ feed, cache }, name) : undefined
    const known = this.#held.get(name)
    if (known?.record) {
      const isNewer =
        cached?.installationId === known.installationId && versionOf(cached.record) > versionOf(known.record)
      const record = isNewer ? cached.record : known.record
      const confirmedAt = known.epoch === feed.epoch() ? Math.max(known.asOf, feed.lastCurrentAt()) : known.asOf
      const isYoung = clock.monotonic() - confirmedAt <= recordMaxAgeMs
      if (isYoung && versionOf(record) >= this.#leastVersion(name)) return { ...known, record }
    }
    throw error instanceof Unavailable ? error : new Unavailable('auth-server', { cause: error })
  }
}

const versionOf = (record: PrincipalRecord | undefined): number => record?.version ?? 0

/** The cache's record, if the feed is current and stays complete meanwhile and it is new enough; else the auth server's. */
async function fetchRecord(
  { feed, cache, authClient, clock }: PrincipalRecordsPorts,
  { name, atLeast, onBehalfOf }: { name: string; atLeast: number; onBehalfOf: Traced | undefined },
): Promise<Held> {
  const before = feed.installationId()
  const epoch = feed.epoch()
  const asOf = clock.monotonic()
  const cached = feed.isCurrent() ? await readCache({ feed, cache }, name) : undefined
  const canBelieve = cached && versionOf(cached.record) >= atLeast && feed.isCurrent() && feed.epoch() === epoch
  if (canBelieve) return { ...cached, atLeast, isOutdated: false, epoch, asOf, goodUntil: asOf }
  const answer = await authClient.principal(name, onBehalfOf)
  feed.learn(answer.installationId, before)
  // A version of another installation says nothing of this one.
  const floor = answer.installationId === before ? atLeast : 0
  return { ...answer, atLeast: floor, isOutdated: false, epoch, asOf, goodUntil: asOf + answerGoodForMs }
}

/** The cached record; undefined also when the cache does not answer: the auth server is asked next. */
async function readCache(
  { feed, cache }: Pick<PrincipalRecordsPorts, 'feed' | 'cache'>,
  name: string,
): Promise<InstalledPrincipal | undefined> {
  const installationId = feed.installationId()
  if (installationId === undefined) return undefined
  try {
    const entry = await cache.getVersioned(principalKey(installationId, name))
    const record = entry && parsePrincipalRecord(entry.value)
    return record && { installationId, record }
  } catch {
    return undefined
  }
}
