/**
 * The principal records of a deal server: from memory, then from the cache, then from the auth server
 * (docs/revocation.md#which-record-answers).
 *
 * While the feed is current and complete, memory and cache are believed. Otherwise the auth server is asked; its answer
 * is good for 500 ms. If it does not answer either, a known record serves for RECORD_MAX_AGE, or the one in the cache
 * if that is newer. After that, reading fails. A record below its minimum version is never used, nor one of another
 * instance than the feed follows.
 */
import { createBoundedCache } from '../../../shared/platform/cache/bounded-cache.ts'
import type { Cache, Versioned } from '../../../shared/platform/cache/cache.ts'
import type { Clock } from '../../../shared/platform/clock.ts'
import { createSharedCalls, type SharedCalls } from '../../../shared/platform/concurrency/share-calls.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import type { Traced } from '../../../shared/platform/trace-context.ts'
import type { Principals } from '../../../shared/protocol/authentication/authenticate.ts'
import type { InstancePrincipal } from '../../../shared/protocol/principal/record.ts'
import {
  foldUsername,
  type PrincipalRecord,
  parsePrincipalRecord,
  principalKey,
} from '../../../shared/protocol/principal/record.ts'
import type { AuthClient } from '../auth-client/auth-client.ts'
import type { PrincipalFeed } from './principal-feed.ts'

/** The parts that principal records use. */
export interface PrincipalRecordsPorts {
  readonly feed: PrincipalFeed
  readonly cache: Cache
  readonly authClient: Pick<AuthClient, 'principal'>
  readonly clock: Clock
  /** RECORD_MAX_AGE in milliseconds. */
  readonly recordMaxAgeMs: number
}

/** The known record of one user. */
interface KnownRecord {
  readonly instanceId: string
  /** Undefined: the auth server said there is no such user. */
  readonly record: PrincipalRecord | undefined
  /** The lowest version that may be used: the highest one announced or seen. */
  readonly minVersion: number
  /** The record was announced again: a refresh has read it, and may have found another one under the same version. */
  readonly isOutdated: boolean
  /** The feed's epoch before the load began. */
  readonly epoch: number
  /** When the load began, on the monotonic clock. The record is at least that new. */
  readonly asOf: number
  /** Until when the record may be used while the feed is not current. */
  readonly goodUntil: number
}

/** Bounds of the memory; one record takes 1 to 2 KB. */
const cacheBounds = { maxEntries: 100_000, maxBytes: 128_000_000 }
/** How long a response of the auth server is good while the feed is not current, in milliseconds. */
const answerGoodForMs = 500
/**
 * How long "there is no such user" is believed, in milliseconds. A creation is announced, so this only bounds the harm
 * of a lost record.
 */
const unknownGoodForMs = 5_000
/** How often a load starts again because a change overtook it; then it fails. */
const maxLoads = 4

/** The records of one deal server. */
export function createPrincipalRecords(ports: PrincipalRecordsPorts): Principals {
  return new PrincipalRecords(ports)
}

class PrincipalRecords implements Principals {
  readonly #ports: PrincipalRecordsPorts
  readonly #known = createBoundedCache<KnownRecord>(cacheBounds)
  readonly #loads: SharedCalls<PrincipalRecord | undefined>

  constructor(ports: PrincipalRecordsPorts) {
    this.#ports = ports
    this.#loads = createSharedCalls({ clock: ports.clock, ms: answerGoodForMs })
    // The feed forgets minimum versions after a minute, so each known record keeps its own.
    ports.feed.onChange((name, version) => {
      const known = this.#known.get(name)
      if (known) this.#known.set(name, { ...known, isOutdated: true, minVersion: Math.max(known.minVersion, version) })
    })
    ports.feed.onOtherInstance(() => this.#known.clear())
  }

  onOtherInstance(listener: () => void): void {
    this.#ports.feed.onOtherInstance(listener)
  }

  get(username: string, traceContext?: Traced): Promise<PrincipalRecord | undefined> | PrincipalRecord | undefined {
    const name = foldUsername(username)
    const known = this.#known.get(name)
    return known && this.#isGood(known) ? known.record : this.#sharedLoad(name, traceContext)
  }

  /** True when the known record may be used now. */
  #isGood({ record, minVersion, isOutdated, epoch, asOf, goodUntil }: KnownRecord): boolean {
    const { feed, clock } = this.#ports
    if (isOutdated || versionOf(record) < minVersion) return false
    const now = clock.monotonic()
    if (!feed.isCurrent()) return now <= goodUntil
    return epoch === feed.epoch() && (record !== undefined || now - asOf <= unknownGoodForMs)
  }

  #minVersion(name: string): number {
    const known = this.#known.get(name)
    return Math.max(this.#ports.feed.minVersion(name), known?.minVersion ?? 0, versionOf(known?.record))
  }

  /** The load carries the trace of its first caller. In a function of its own, so that a hit makes no closure. */
  #sharedLoad(name: string, traceContext: Traced | undefined): Promise<PrincipalRecord | undefined> {
    return this.#loads.share(name, () => this.#load(name, traceContext))
  }

  async #load(name: string, traceContext: Traced | undefined): Promise<PrincipalRecord | undefined> {
    for (let count = 0; count < maxLoads; count += 1) {
      const asked = fetchRecord(this.#ports, { name, minVersion: this.#minVersion(name), traceContext })
      const next = await asked.catch((error: unknown) => this.#useKnown(name, error))
      // While the record was on its way, a message, a newer record or another database may have arrived.
      if (next.instanceId !== this.#ports.feed.instanceId()) continue
      if (versionOf(next.record) < this.#minVersion(name)) continue
      this.#known.set(name, next)
      return next.record
    }
    throw new Unavailable('auth-server')
  }

  /**
   * After a failed load: the known record, or a newer one from the cache, unless it is too old or below its minimum
   * version.
   */
  async #useKnown(name: string, error: unknown): Promise<KnownRecord> {
    const { feed, cache, clock, recordMaxAgeMs } = this.#ports
    // Whatever messages told: a newer record is nearer to the truth than the known one.
    const cached = this.#known.has(name) ? await readRecord(feed, name, (key) => cache.getVersioned(key)) : undefined
    const known = this.#known.get(name)
    if (known?.record) {
      const isNewer = cached?.instanceId === known.instanceId && versionOf(cached.record) > versionOf(known.record)
      const record = isNewer ? cached.record : known.record
      const confirmedAt = known.epoch === feed.epoch() ? Math.max(known.asOf, feed.lastCurrentAt()) : known.asOf
      const isYoung = clock.monotonic() - confirmedAt <= recordMaxAgeMs
      if (isYoung && versionOf(record) >= this.#minVersion(name)) return { ...known, record }
    }
    throw error instanceof Unavailable ? error : new Unavailable('auth-server', { cause: error })
  }
}

const versionOf = (record: PrincipalRecord | undefined): number => record?.version ?? 0

/**
 * The record from the cache, if it is new enough and the feed is current and complete throughout; else from the auth
 * server.
 */
async function fetchRecord(
  { feed, authClient, clock }: PrincipalRecordsPorts,
  { name, minVersion, traceContext }: { name: string; minVersion: number; traceContext: Traced | undefined },
): Promise<KnownRecord> {
  const before = feed.instanceId()
  const epoch = feed.epoch()
  const asOf = clock.monotonic()
  const cached = feed.isCacheCurrent() ? await readRecord(feed, name, (key) => feed.readCache(key)) : undefined
  const canBelieve = cached && versionOf(cached.record) >= minVersion && feed.isCurrent() && feed.epoch() === epoch
  if (canBelieve) return { ...cached, minVersion, isOutdated: false, epoch, asOf, goodUntil: asOf }
  const answer = await authClient.principal(name, traceContext)
  feed.observeInstance(answer.instanceId, before)
  // Versions of two instances cannot be compared.
  const leastHere = answer.instanceId === before ? minVersion : 0
  return { ...answer, minVersion: leastHere, isOutdated: false, epoch, asOf, goodUntil: asOf + answerGoodForMs }
}

/** The cached record; undefined also when the cache does not respond, so that the auth server is asked next. */
async function readRecord(
  feed: Pick<PrincipalFeed, 'instanceId'>,
  name: string,
  read: (key: string) => Promise<Versioned | undefined>,
): Promise<InstancePrincipal | undefined> {
  const instanceId = feed.instanceId()
  if (instanceId === undefined) return undefined
  try {
    const entry = await read(principalKey(instanceId, name))
    const record = entry && parsePrincipalRecord(entry.value)
    return record && { instanceId, record }
  } catch {
    return undefined
  }
}
