/**
 * Housekeeping: removes what has expired, in the background and in small batches, in one instance of a server at a time. Knows nothing
 * of what is removed: that is said by the jobs.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, rfc3339 } from '../clock.ts'
import type { Log } from '../log/log.ts'
import type { Database, Drizzle } from './database.ts'

/** One kind of thing that expires. */
export interface HousekeepingJob {
  /** In the log: `commands`. */
  readonly name: string
  /** Removes, in one statement, at most `limit` of what has expired by `now` (RFC 3339). Answers how many it removed. */
  removeBatch(drizzle: Drizzle, bounds: { readonly now: string; readonly limit: number }): Promise<number>
}

/** What housekeeping works with. */
export interface HousekeepingPorts {
  readonly database: Pick<Database, 'exclusivelyIfFree'>
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn'>
  /** Instances with one name on one database take turns. */
  readonly name: string
  readonly jobs: readonly HousekeepingJob[]
}

/** How often, and how much at once. Times in milliseconds. */
export interface HousekeepingOptions {
  /** From the end of a run to the next; 5 minutes. */
  readonly intervalMs?: number
  /** From the start to the first run; half a minute. */
  readonly firstAfterMs?: number
  /** So many rows a statement; 1,000. */
  readonly batchSize?: number
}

/** The housekeeping of one process. Nothing here ever rejects: what failed is logged, and tried again at the next run. */
export interface Housekeeping {
  /** Runs from time to time from now on. */
  start(): void
  /** Runs no more, and waits for the batch under way. */
  stop(): Promise<void>
  /** Runs now, or joins the run under way. False when another instance is at it, or the database does not answer. */
  runOnce(): Promise<boolean>
  /** How much each job has removed since this process started. */
  removed(): ReadonlyMap<string, number>
}

/** Lets others have the database between two batches. */
const pauseBetweenBatchesMs = 10

/** Housekeeping that has not been started. */
export function createHousekeeping(ports: HousekeepingPorts, options: HousekeepingOptions = {}): Housekeeping {
  return new Runner(ports, { intervalMs: 300_000, firstAfterMs: 30_000, batchSize: 1000, ...options })
}

class Runner implements Housekeeping {
  readonly #ports: HousekeepingPorts
  readonly #options: Required<HousekeepingOptions>
  readonly #removed = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<boolean> | undefined
  #stopping = false

  constructor(ports: HousekeepingPorts, options: Required<HousekeepingOptions>) {
    this.#ports = ports
    this.#options = options
    for (const { name } of ports.jobs) this.#removed.set(name, 0)
  }

  start(): void {
    this.#stopping = false
    this.#schedule(this.#options.firstAfterMs)
  }

  async stop(): Promise<void> {
    this.#stopping = true
    clearTimeout(this.#timer)
    await this.#running
  }

  runOnce(): Promise<boolean> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  removed(): ReadonlyMap<string, number> {
    return this.#removed
  }

  #schedule(afterMs: number): void {
    clearTimeout(this.#timer)
    const run = async () => {
      await this.runOnce()
      if (!this.#stopping) this.#schedule(this.#options.intervalMs)
    }
    this.#timer = setTimeout(() => void run(), afterMs).unref()
  }

  async #run(): Promise<boolean> {
    const { database, jobs, log, name } = this.#ports
    try {
      return await database.exclusivelyIfFree(`housekeeping of ${name}`, async (drizzle) => {
        for (const job of jobs) await this.#do(job, drizzle)
      })
    } catch (err) {
      log.warn({ err, housekeeping: name }, 'housekeeping did not run')
      return false
    }
  }

  /** One job that fails keeps no other from running. */
  async #do(job: HousekeepingJob, drizzle: Drizzle): Promise<void> {
    const { clock, log, name: housekeeping } = this.#ports
    const before = this.#removed.get(job.name) ?? 0
    try {
      await this.#removeAll(job, drizzle, rfc3339(clock.now()))
    } catch (err) {
      log.warn({ err, housekeeping, job: job.name }, 'housekeeping failed')
    }
    const count = (this.#removed.get(job.name) ?? 0) - before
    if (count > 0) log.info({ housekeeping, job: job.name, count }, 'removed what had expired')
  }

  async #removeAll(job: HousekeepingJob, drizzle: Drizzle, now: string): Promise<void> {
    const { batchSize: limit } = this.#options
    while (!this.#stopping) {
      const count = await job.removeBatch(drizzle, { now, limit })
      this.#removed.set(job.name, (this.#removed.get(job.name) ?? 0) + count)
      if (count < limit) return
      await pause(pauseBetweenBatchesMs)
    }
  }
}
