/**
 * Keeps the cache and the deal servers up to date with the principals in the database: when a publication runs, who
 * waits for it, and how its failures are reported. One publication is in `publish-principals.ts`. Knows nothing of why
 * a principal changed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { CacheTime } from '../../shared/platform/cache/cache.ts'
import { DeadlinePassed, withDeadline } from '../../shared/platform/concurrency/deadline.ts'
import { type Changes, heartbeatIntervalMs } from '../../shared/protocol/principal/change-feed.ts'
import type { InstancePrincipal } from '../../shared/protocol/principal/record.ts'
import { foldUsername, principalKey } from '../../shared/protocol/principal/record.ts'
import { announceSuccession, type Succession } from '../../shared/protocol/principal/succession.ts'
import { OtherInstance, readChangeCounter, readSuccession } from './change-counter.ts'
import type { Changed } from './principal-change.ts'
import { type InstanceCatalogue, readInstanceCatalogue, readPrincipal } from './principal-record.ts'
import { PublishLease } from './publish-lease.ts'
import {
  announceAlone,
  DatabaseBehindCache,
  type Published,
  type PublisherSystems,
  publishedVersionKey,
  publishPrincipals,
  putRecord,
} from './publish-principals.ts'

/** How long a caller waits at most until its change is in the cache, in ms (docs/contract/callers.md#freshness). */
const publishWithinMs = 1000

/** Pause after a failed publication that a caller waits for, in milliseconds. */
const retryAfterMs = 50

/** A change that is not published after this time is announced alone: the database may be frozen. In milliseconds. */
const announceAfterMs = 300

/** How often notes for followers of former instances are left, in milliseconds: less than deal servers wait. */
const announceEveryMs = 500

/** How many reloads are remembered while the cache is away. Further ones are dropped: they carry no change. */
const maxReloads = 1000

/** Waits for a change, then until it is published, and resolves with its result. @throws what `change` throws */
export async function whenPublished<Result>(
  publisher: PrincipalPublisher,
  change: Promise<Changed<Result>>,
): Promise<Result> {
  const { result, principalVersion, changes } = await change
  await publisher.waitUntilPublished(principalVersion, changes)
  return result
}

/**
 * The publisher of one auth server process. Several may run side by side. Every method can be called whether or not the
 * heartbeat has been started.
 */
export class PrincipalPublisher {
  readonly #systems: PublisherSystems
  readonly #instanceListeners: (() => void)[] = []
  readonly #changeListeners: ((changes: Changes) => Promise<void> | void)[] = []
  readonly #lease: PublishLease
  #reloads = new Set<string>()
  #instanceId: string | undefined
  /** Everything up to this version is announced, by this server or another one. */
  #cursor: number | undefined
  /** The latest change that this server saw in the database while another one held the lease. */
  #seen: number | undefined
  #latest: Published | undefined
  #publishedAt: number | undefined
  #problem: string | undefined
  #running: Promise<boolean> | undefined
  #queued: Promise<boolean> | undefined
  #heartbeat: AbortController | undefined
  #succession: Succession | undefined
  #announcedAt = Number.NEGATIVE_INFINITY

  constructor(systems: PublisherSystems) {
    this.#systems = systems
    this.#lease = new PublishLease(systems.cache)
  }

  /** Starts the heartbeat. It publishes while no other server does. */
  start(): void {
    if (this.#heartbeat) return
    this.#heartbeat = new AbortController()
    void this.#beat(this.#heartbeat.signal)
  }

  /** Ends the heartbeat and waits for the publication under way. */
  async stop(): Promise<void> {
    this.#heartbeat?.abort()
    this.#heartbeat = undefined
    await (this.#queued ?? this.#running)
    await this.#lease.release()
  }

  /**
   * Runs a publication that begins no earlier than now, shared by all callers of that time. False when it failed. Never
   * rejects.
   */
  publish(): Promise<boolean> {
    if (this.#queued) return this.#queued
    if (this.#running) {
      this.#queued = this.#running.then(() => {
        this.#queued = undefined
        return this.publish()
      })
      return this.#queued
    }
    this.#running = this.#publishOnce().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /**
   * Resolves when the change is published and the listeners of `onChange` are done, or after 1 s. By then it is
   * announced at least, or other auth servers have read it.
   * @throws Unavailable when neither database nor cache answers: only this server knows of the change
   */
  async waitUntilPublished(principalVersion: number, changes: Changes = []): Promise<void> {
    let isAnnounced = false
    const isPublished = () => (this.#cursor ?? -1) >= principalVersion
    await within(publishWithinMs, async (isOver) => {
      const listening = this.#changeListeners.map((listener) => listener(changes))
      while (!isOver() && !isPublished()) {
        const isDone = await Promise.race([this.publish(), sleep(announceAfterMs, false, { ref: false })])
        if (isDone) continue
        isAnnounced ||= await this.#announceAlone(changes)
        await sleep(retryAfterMs)
      }
      await Promise.all(listening)
    })
    // Where the cache is away, other auth servers read the change from the database.
    if (!isAnnounced && !isPublished()) await readChangeCounter(this.#systems.database)
  }

  /**
   * Puts the user's record into the cache again and announces it, though nothing changed. Waits for one publication.
   * Never rejects.
   */
  async reloaded(username: string): Promise<void> {
    if (this.#reloads.size < maxReloads) this.#reloads.add(foldUsername(username))
    await within(publishWithinMs, () => this.publish())
  }

  /** True when the cache has exactly this record, which was read from the database just now. Never rejects. */
  async isCached({ instanceId, record }: InstancePrincipal): Promise<boolean> {
    if (!record || instanceId !== this.#instanceId || this.#problem !== undefined) return false
    const key = principalKey(instanceId, foldUsername(record.username))
    const found = await this.#systems.cache.getVersioned(key).catch(() => undefined)
    return found?.version === record.version && found.value === JSON.stringify(record)
  }

  /** The record from the database. Puts it into the cache for the next reader, if there is one. @throws Unavailable */
  async fill(username: string): Promise<InstancePrincipal> {
    const fillable = await this.#fillable()
    const { instanceId, record } = await readPrincipal(this.#systems, username)
    if (record && fillable?.instanceId === instanceId)
      await putRecord(this.#systems.cache, { instanceId, name: record.username, record }, fillable.since).catch(
        () => false,
      )
    this.#compareWith(instanceId)
    return { instanceId, record }
  }

  /** The catalogue from the database, with the instance id of the database. @throws Unavailable */
  async catalogue(): Promise<InstanceCatalogue> {
    const read = await readInstanceCatalogue(this.#systems.database)
    this.#compareWith(read.instanceId)
    return read
  }

  /**
   * The id of the instance. It is read from the database once, and compared at every publication and every `fill`: it
   * may name the former instance for a moment after another server took over. @throws Unavailable
   */
  async instanceId(): Promise<string> {
    this.#instanceId ??= (await readChangeCounter(this.#systems.database)).instanceId
    return this.#instanceId
  }

  /** From now on calls `listener` whenever the database became another instance: nothing known before is of use. */
  onOtherInstance(listener: () => void): void {
    this.#instanceListeners.push(listener)
  }

  /** From now on calls `listener` with each change of this process, which is acknowledged when the listener is done. */
  onChange(listener: (changes: Changes) => Promise<void> | void): void {
    this.#changeListeners.push(listener)
  }

  /**
   * For readiness and metrics: the version published last, the milliseconds since the last successful publication, and
   * why the last one failed, by the dependency that did not answer, or because the database is older than the cache.
   */
  health() {
    const ageMs = this.#publishedAt === undefined ? undefined : this.#systems.clock.monotonic() - this.#publishedAt
    return { upTo: this.#cursor, ageMs, problem: this.#problem }
  }

  /**
   * A time in a run of the cache that has a published version; undefined where no record may be put, or the cache is
   * away.
   */
  async #fillable(): Promise<{ instanceId: string; since: CacheTime } | undefined> {
    if (this.#problem !== undefined) return undefined
    try {
      const instanceId = await this.instanceId()
      const since = await this.#systems.cache.time()
      return (await this.#systems.cache.getVersioned(publishedVersionKey(instanceId))) && { instanceId, since }
    } catch {
      return undefined
    }
  }

  async #beat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (!(await this.#isPublishedByAnother()) && (await this.publish())) await this.#hold()
      await sleep(heartbeatIntervalMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  /** False without an answer of the cache, and while another database takes over: a publication finds out. */
  async #announceAlone(changes: Changes): Promise<boolean> {
    const instanceId = this.#instanceId
    if (instanceId === undefined) return false
    return announceAlone(this.#systems, instanceId, changes).catch(() => false)
  }

  async #hold(): Promise<void> {
    const [instanceId, published] = [this.#instanceId, this.#latest]
    if (instanceId === undefined || published === undefined || !this.#heartbeat) return
    await this.#lease.hold({ instanceId, upTo: published.upTo, keys: this.#systems.publishedKeys() }, published.since)
    await this.#announce(instanceId).catch(() => undefined)
  }

  /** Tells followers of former instances which one has taken their place. @throws Unavailable */
  async #announce(instanceId: string): Promise<void> {
    const { database, cache, clock } = this.#systems
    const now = clock.monotonic()
    if (now - this.#announcedAt < announceEveryMs) return
    this.#announcedAt = now
    if (this.#succession?.instanceId !== instanceId) this.#succession = await readSuccession(database)
    // The database may be another one by now: then the next publication notices.
    if (this.#succession.instanceId === instanceId) await announceSuccession(cache, this.#succession)
  }

  /**
   * True when another server holds the lease, publishes the same keys, and has announced what was in the database at
   * the last look. The database is read each time, after the lease: it may be another one by now, or an older one.
   */
  async #isPublishedByAnother(): Promise<boolean> {
    try {
      const instanceId = await this.instanceId()
      const held = await this.#lease.ofAnother(instanceId)
      if (!held || this.#reloads.size > 0 || held.keys !== this.#systems.publishedKeys()) return false
      const counter = await readChangeCounter(this.#systems.database)
      this.#compareWith(counter.instanceId)
      if (this.#instanceId !== instanceId || counter.value < held.upTo) return false
      const isComplete = held.upTo >= (this.#seen ?? 0)
      this.#seen = counter.value
      if (!isComplete) return false
      this.#cursor = Math.max(this.#cursor ?? 0, held.upTo)
      this.#publishedAt = this.#systems.clock.monotonic()
      this.#report(undefined)
      return true
    } catch {
      return false
    }
  }

  async #publishOnce(): Promise<boolean> {
    const reloads = this.#reloads
    this.#reloads = new Set()
    try {
      const instanceId = await this.instanceId()
      const start = { instanceId, cursor: this.#cursor, reloads: [...reloads] }
      const published = await publishPrincipals(this.#systems, start)
      // By now `fill` may have read from another instance, in which that version means another change.
      if (this.#instanceId !== instanceId) throw new OtherInstance('another instance has been read from')
      this.#latest = published
      this.#cursor = Math.max(this.#cursor ?? 0, published.upTo)
      this.#publishedAt = this.#systems.clock.monotonic()
      this.#report(undefined)
      return true
    } catch (error) {
      if (error instanceof OtherInstance) this.#startOver()
      else await this.#compareInstance()
      for (const username of reloads) this.#reloads.add(username)
      this.#report(error)
      return false
    }
  }

  /** A publication may fail before it reads the database: without the cache, another instance is noticed here. */
  async #compareInstance(): Promise<void> {
    const read = await readChangeCounter(this.#systems.database).catch(() => undefined)
    if (read) this.#compareWith(read.instanceId)
  }

  #compareWith(instanceId: string): void {
    if (this.#instanceId !== undefined && this.#instanceId !== instanceId) this.#startOver()
  }

  /** Forgets the former database. */
  #startOver(): void {
    this.#instanceId = undefined
    this.#cursor = undefined
    this.#seen = undefined
    this.#latest = undefined
    for (const listener of this.#instanceListeners) listener()
  }

  /** Logs only when the state changes: there are five attempts a second. */
  #report(error: unknown): void {
    const problem = error === undefined ? undefined : problemOf(error)
    if (problem === this.#problem) return
    this.#problem = problem
    if (problem === undefined) this.#systems.log.info('The change feed is published again')
    else this.#systems.log.warn({ err: error }, `The change feed is not published: ${problem}`)
  }
}

const problemOf = (error: unknown): string => {
  if (error instanceof DatabaseBehindCache) return `the database is older than the cache: ${error.message}`
  return error instanceof Error ? error.message : 'unknown error'
}

/** Waits for `work` for this time at most. Then `isOver` is true: work that goes on may stop. */
async function within(milliseconds: number, work: (isOver: () => boolean) => Promise<unknown>): Promise<void> {
  let over = false
  try {
    await withDeadline(
      work(() => over),
      milliseconds,
    )
  } catch (error) {
    if (!(error instanceof DeadlinePassed)) throw error
  } finally {
    over = true
  }
}
