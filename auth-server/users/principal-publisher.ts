/**
 * Keeps the cache and the deal servers up to date with the principals in the database: when flushes run, who waits for them, and
 * what is told about their failures. What one flush does is in `principal-flush.ts`. Knows nothing of why a principal changed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cache, CacheMoment } from '../../shared/platform/cache/cache.ts'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { heartbeatIntervalMs } from '../../shared/protocol/principal/change-feed.ts'
import type { InstalledPrincipal } from '../../shared/protocol/principal/record.ts'
import { foldUsername } from '../../shared/protocol/principal/record.ts'
import { OtherInstallation, readChangeCounter } from './change-counter.ts'
import { DatabaseBehindCache, feedMarkerKey, flushPrincipals, putRecord } from './principal-flush.ts'
import { readPrincipal } from './principal-record.ts'

/** How long a caller waits at most for its change to reach the cache (CONTRACT "Freshness"). */
const settleWithinMs = 1000

/** Pause after a failed flush that somebody waits for. */
const retryAfterMs = 50

/** So many reloads are remembered while the cache is away; beyond, they are dropped, since they carry no change. */
const maxReloads = 1000

/** How the feed is doing, for readiness and metrics. */
export interface PublisherHealth {
  /** The change number last published; undefined before the first flush. */
  readonly upTo: number | undefined
  /** Milliseconds since the last successful flush. */
  readonly ageMs: number | undefined
  /** Why the last flush failed: the dependency that did not answer, or that the database is older than the cache. */
  readonly problem: string | undefined
}

/** Publishes principals. Every method can be called whether or not the heartbeat has been started. */
export interface PrincipalPublisher {
  /** Starts the heartbeat. */
  start(): void
  /** Ends the heartbeat and waits for the flush under way. */
  stop(): Promise<void>
  /** Flushes, beginning no earlier than now; shared by all who ask meanwhile. False when it failed. Never rejects. */
  flush(): Promise<boolean>
  /** Resolves when the change is published, or 1 s later when the cache cannot be reached. Never rejects. */
  settle(changeNumber: number): Promise<void>
  /** Puts the user's record into the cache again and says so, though nothing changed. Waits for one flush. Never rejects. */
  reloaded(username: string): Promise<void>
  /** The record from the database, left in the cache for the next reader when there is a cache. @throws Unavailable */
  fill(username: string): Promise<InstalledPrincipal>
  /** Which installation the database is, as far as is known here; read only once. @throws Unavailable */
  installationId(): Promise<string>
  health(): PublisherHealth
}

/** What the publisher works with. */
export interface PrincipalPublisherPorts {
  readonly database: Pick<Database, 'query'>
  readonly cache: Cache
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn'>
  /** Which keys are published now (`shared/protocol/internal-api/published-keys.ts`). */
  publishedKeys(): string
}

/** The publisher of one auth server process. Several may run side by side. */
export function createPrincipalPublisher(ports: PrincipalPublisherPorts): PrincipalPublisher {
  return new Publisher(ports)
}

class Publisher implements PrincipalPublisher {
  readonly #ports: PrincipalPublisherPorts
  #reloads = new Set<string>()
  #installationId: string | undefined
  #cursor: number | undefined
  #publishedAt: number | undefined
  #problem: string | undefined
  #running: Promise<boolean> | undefined
  #queued: Promise<boolean> | undefined
  #heartbeat: AbortController | undefined

  constructor(ports: PrincipalPublisherPorts) {
    this.#ports = ports
  }

  start(): void {
    if (this.#heartbeat) return
    this.#heartbeat = new AbortController()
    void this.#beat(this.#heartbeat.signal)
  }

  async stop(): Promise<void> {
    this.#heartbeat?.abort()
    this.#heartbeat = undefined
    await (this.#queued ?? this.#running)
  }

  flush(): Promise<boolean> {
    if (this.#queued) return this.#queued
    if (this.#running) {
      this.#queued = this.#running.then(() => {
        this.#queued = undefined
        return this.flush()
      })
      return this.#queued
    }
    this.#running = this.#run().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async settle(changeNumber: number): Promise<void> {
    await within(settleWithinMs, async (signal) => {
      while (!signal.aborted && (this.#cursor ?? -1) < changeNumber) {
        if (!(await this.flush())) await sleep(retryAfterMs)
      }
    })
  }

  async reloaded(username: string): Promise<void> {
    if (this.#reloads.size < maxReloads) this.#reloads.add(foldUsername(username))
    await within(settleWithinMs, () => this.flush())
  }

  async fill(username: string): Promise<InstalledPrincipal> {
    const fillable = await this.#fillable()
    const { installationId, record } = await readPrincipal(this.#ports, username)
    if (record && fillable?.installationId === installationId)
      await putRecord(this.#ports.cache, { installationId, record }, fillable.since).catch(() => false)
    return { installationId, record }
  }

  async installationId(): Promise<string> {
    this.#installationId ??= (await readChangeCounter(this.#ports.database)).installationId
    return this.#installationId
  }

  health(): PublisherHealth {
    const ageMs = this.#publishedAt === undefined ? undefined : this.#ports.clock.monotonic() - this.#publishedAt
    return { upTo: this.#cursor, ageMs, problem: this.#problem }
  }

  /** A moment of an incarnation that has a marker; undefined where no record may be put, or the cache is known to be away. */
  async #fillable(): Promise<{ installationId: string; since: CacheMoment } | undefined> {
    if (this.#problem !== undefined) return undefined
    try {
      const installationId = await this.installationId()
      const since = await this.#ports.cache.moment()
      return (await this.#ports.cache.getVersioned(feedMarkerKey(installationId))) && { installationId, since }
    } catch {
      return undefined
    }
  }

  async #beat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.flush()
      await sleep(heartbeatIntervalMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  async #run(): Promise<boolean> {
    const reloads = this.#reloads
    this.#reloads = new Set()
    try {
      const installationId = await this.installationId()
      const start = { installationId, cursor: this.#cursor, reloads: [...reloads] }
      this.#cursor = await flushPrincipals(this.#ports, start)
      this.#publishedAt = this.#ports.clock.monotonic()
      this.#report(undefined)
      return true
    } catch (error) {
      if (error instanceof OtherInstallation) this.#startAnew()
      for (const username of reloads) this.#reloads.add(username)
      this.#report(error)
      return false
    }
  }

  /** What was known is not true of the database that is there now. */
  #startAnew(): void {
    this.#installationId = undefined
    this.#cursor = undefined
  }

  /** Logs only when the state changes: five failures a second say no more than one. */
  #report(error: unknown): void {
    const problem = error === undefined ? undefined : problemOf(error)
    if (problem === this.#problem) return
    this.#problem = problem
    if (problem === undefined) this.#ports.log.info('principal feed: publishing again')
    else this.#ports.log.warn({ err: error }, `principal feed: not publishing: ${problem}`)
  }
}

const problemOf = (error: unknown): string => {
  if (error instanceof DatabaseBehindCache) return `the database is older than the cache: ${error.message}`
  return error instanceof Error ? error.message : 'unknown error'
}

/** Waits for `work`, but no longer than this; `work` is told by its signal. */
async function within(milliseconds: number, work: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  const over = new AbortController()
  const timeout = sleep(milliseconds, undefined, { signal: over.signal }).catch(() => undefined)
  await Promise.race([work(over.signal), timeout.then(() => over.abort())])
  over.abort()
}
