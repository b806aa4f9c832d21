/**
 * Records that a deal server follows, each under a name of the change feed: from memory, then from the cache, then from
 * the auth server (docs/revocation.md#which-record-answers).
 *
 * While the feed is current and complete, memory and cache are believed. Otherwise the auth server is asked; its answer
 * is good for 500 ms. If it does not answer either, a known record serves for RECORD_MAX_AGE, or the one in the cache
 * if that is newer. The same while it answers without its database, as long as changes are still heard of. After that,
 * reading fails. A record below its minimum version is never used, nor one of another instance than the feed follows.
 */
import { createBoundedCache } from '../../../shared/platform/cache/bounded-cache.ts'
import { createSharedCalls } from '../../../shared/platform/concurrency/share-calls.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import type { Traced } from '../../../shared/platform/trace-context.ts'
import { type InstanceRecord, principalKey } from '../../../shared/protocol/principal/record.ts'
import { CannotSay } from '../auth-client/cannot-say.ts'
import type { ServiceSystems } from '../auth-client/service-systems.ts'
import type { PrincipalFeed } from './principal-feed.ts'

/** What is followed, and how. */
interface Followed<Stored> extends Pick<ServiceSystems, 'cache' | 'clock'> {
  readonly feed: PrincipalFeed
  /** RECORD_MAX_AGE in milliseconds. */
  readonly recordMaxAgeMs: number
  /** Reads a record from its text in the cache; undefined for one of another form. */
  readonly parse: (text: string) => Stored | undefined
  /** The record in the database. @throws CannotSay, Unavailable */
  readonly ask: (name: string, traceContext: Traced | undefined) => Promise<InstanceRecord<Stored>>
}

/** The known record of one name. */
interface KnownRecord<Stored> extends InstanceRecord<Stored> {
  /** The lowest version that may be used: the highest one announced since the load. */
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

/** What all records have. */
interface Numbered {
  /** The number of the latest change of the record. */
  readonly version: number
}

/** The records of one kind of one deal server. */
export class FollowedRecords<Stored extends Numbered> {
  readonly #followed: Followed<Stored>
  readonly #known = createBoundedCache<KnownRecord<Stored>>(cacheBounds)
  readonly #loads: ReturnType<typeof createSharedCalls<Stored | undefined>>

  constructor(followed: Followed<Stored>) {
    this.#followed = followed
    this.#loads = createSharedCalls({ clock: followed.clock, ms: answerGoodForMs })
    // The feed forgets minimum versions after a minute, so each known record keeps its own.
    followed.feed.onChange((name, version) => {
      const known = this.#known.get(name)
      if (known) this.#known.set(name, { ...known, isOutdated: true, minVersion: Math.max(known.minVersion, version) })
    })
    followed.feed.onOtherInstance(() => this.#known.clear())
  }

  /** The record of this name; undefined when there is none. @throws Unavailable when neither can be determined */
  get(name: string, traceContext?: Traced): Promise<Stored | undefined> | Stored | undefined {
    const known = this.#known.get(name)
    return known && this.#isGood(known) ? known.record : this.#sharedLoad(name, traceContext)
  }

  /** True when the known record may be used now. */
  #isGood({ record, minVersion, isOutdated, epoch, asOf, goodUntil }: KnownRecord<Stored>): boolean {
    const { feed, clock } = this.#followed
    if (isOutdated || versionOf(record) < minVersion) return false
    const now = clock.monotonic()
    if (!feed.isCurrent()) return now <= goodUntil
    return epoch === feed.epoch() && (record !== undefined || now - asOf <= unknownGoodForMs)
  }

  #minVersion(name: string): number {
    const known = this.#known.get(name)
    return Math.max(this.#followed.feed.minVersion(name), known?.minVersion ?? 0, versionOf(known?.record))
  }

  /** The load carries the trace of its first caller. In a function of its own, so that a hit makes no closure. */
  #sharedLoad(name: string, traceContext: Traced | undefined): Promise<Stored | undefined> {
    return this.#loads.share(name, () => this.#load(name, traceContext))
  }

  async #load(name: string, traceContext: Traced | undefined): Promise<Stored | undefined> {
    for (let count = 0; count < maxLoads; count += 1) {
      const asked = fetchRecord(this.#followed, { name, minVersion: this.#minVersion(name), traceContext })
      const next = await asked.catch((error: unknown) => this.#useKnown(name, error))
      // While the record was on its way, a message, a newer record or another database may have arrived.
      if (next.instanceId !== this.#followed.feed.instanceId()) continue
      if (versionOf(next.record) < this.#minVersion(name)) continue
      this.#known.set(name, next)
      return next.record
    }
    throw new Unavailable('auth-server')
  }

  /**
   * After a failed load: the known record, or a newer one from the cache, unless it is too old or below its minimum
   * version, or an auth server is reached and may know of changes that are not heard of here.
   */
  async #useKnown(name: string, error: unknown): Promise<KnownRecord<Stored>> {
    const { feed, clock, recordMaxAgeMs } = this.#followed
    // Whatever messages told: a newer record is nearer to the truth than the known one.
    const cached = this.#known.has(name) ? await readRecord(this.#followed, name) : undefined
    const known = this.#known.get(name)
    const mayMiss = error instanceof CannotSay && !(known?.epoch === feed.epoch() && feed.hears())
    if (known?.record && !mayMiss) {
      const isNewer = cached?.instanceId === known.instanceId && versionOf(cached.record) > versionOf(known.record)
      const record = isNewer ? cached.record : known.record
      const confirmedAt = known.epoch === feed.epoch() ? Math.max(known.asOf, feed.lastCurrentAt()) : known.asOf
      const isYoung = clock.monotonic() - confirmedAt <= recordMaxAgeMs
      if (isYoung && versionOf(record) >= this.#minVersion(name)) return { ...known, record }
    }
    throw error instanceof Unavailable ? error : new Unavailable('auth-server', { cause: error })
  }
}

const versionOf = (record: Numbered | undefined): number => record?.version ?? 0

/**
 * The record from the cache, if it is new enough and the feed is current and complete throughout; else from the auth
 * server.
 */
async function fetchRecord<Stored extends Numbered>(
  followed: Followed<Stored>,
  { name, minVersion, traceContext }: { name: string; minVersion: number; traceContext: Traced | undefined },
): Promise<KnownRecord<Stored>> {
  const { feed, clock } = followed
  const before = feed.instanceId()
  const epoch = feed.epoch()
  const asOf = clock.monotonic()
  const cached = feed.isCacheCurrent() ? await readRecord(followed, name) : undefined
  const canBelieve = cached && versionOf(cached.record) >= minVersion && feed.isCurrent() && feed.epoch() === epoch
  // `#load` compares the version of either.
  const fresh = { minVersion: 0, isOutdated: false, epoch, asOf }
  if (canBelieve) return { ...cached, ...fresh, goodUntil: asOf }
  const answer = await followed.ask(name, traceContext)
  feed.noteAnswer(asOf)
  feed.observeInstance(answer.instanceId, before)
  return { ...answer, ...fresh, goodUntil: asOf + answerGoodForMs }
}

/** The cached record; undefined also when the cache does not respond, so that the auth server is asked next. */
async function readRecord<Stored extends Numbered>(
  { feed, cache, parse }: Followed<Stored>,
  name: string,
): Promise<InstanceRecord<Stored> | undefined> {
  const instanceId = feed.instanceId()
  if (instanceId === undefined) return undefined
  try {
    const entry = await cache.getVersioned(principalKey(instanceId, name))
    const record = entry && parse(entry.value)
    return record && { instanceId, record }
  } catch {
    return undefined
  }
}
