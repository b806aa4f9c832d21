/**
 * Housekeeping removes expired rows, in the background and in small batches, in one instance of a server at a time, and
 * does other regular work on tables. It knows no table: the jobs and chores do.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, rfc3339 } from '../clock.ts'
import type { Log } from '../log/log.ts'
import type { Database, Drizzle } from './database.ts'

/** Removes one kind of expired rows. */
export interface HousekeepingJob {
  /** In the log: `commands`. */
  readonly name: string
  /**
   * Removes, in one statement, at most `limit` rows that have expired by `now` (RFC 3339). Answers how many it removed.
   */
  removeBatch(drizzle: Drizzle, bounds: { readonly now: string; readonly limit: number }): Promise<number>
}

/** Other work that is done in each run, after the jobs. */
export interface Chore {
  /** In the log. */
  readonly name: string
  /** Each statement is a transaction of its own, without time limits. */
  run(drizzle: Drizzle, clock: Clock): Promise<void>
}

interface HousekeepingPorts {
  readonly database: Pick<Database, 'exclusivelyIfFree'>
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn'>
  /** Instances with one name on one database take turns. */
  readonly name: string
  readonly jobs: readonly HousekeepingJob[]
  readonly chores?: readonly Chore[]
}

/** How often housekeeping runs and how large a batch is. Times in milliseconds. */
export interface HousekeepingOptions {
  /** From the end of a run to the next one; 5 minutes when left out. */
  readonly intervalMs?: number
  /** From the start to the first run; half a minute when left out. */
  readonly firstAfterMs?: number
  /** Rows for each statement; 1,000 when left out. */
  readonly batchSize?: number
}

/** Leaves the database to other callers between two batches. */
const pauseBetweenBatchesMs = 10

/** Creates housekeeping. `start` starts it. */
export const createHousekeeping = (ports: HousekeepingPorts, options: HousekeepingOptions = {}): Housekeeping =>
  new Housekeeping(ports, { intervalMs: 300_000, firstAfterMs: 30_000, batchSize: 1000, ...options })

/** The housekeeping of one process. It never rejects: a failure is logged, and the next run tries again. */
export class Housekeeping {
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

  /** Starts to run at intervals. */
  start(): void {
    this.#stopping = false
    this.#schedule(this.#options.firstAfterMs)
  }

  /** Stops, and waits for the running batch. */
  async stop(): Promise<void> {
    this.#stopping = true
    clearTimeout(this.#timer)
    await this.#running
  }

  /** Runs now, or joins the current run. False when another instance runs, or the database does not answer. */
  runOnce(): Promise<boolean> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** The number of rows that each job has removed since this process started. */
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
    const { database, jobs, chores = [], clock, log, name } = this.#ports
    try {
      return await database.exclusivelyIfFree(`housekeeping of ${name}`, async (drizzle) => {
        for (const job of jobs) await this.#do(job, drizzle)
        for (const chore of chores) {
          if (this.#stopping) return
          await this.#guard(chore.name, () => chore.run(drizzle, clock))
        }
      })
    } catch (err) {
      log.warn({ err, housekeeping: name }, 'Housekeeping did not run')
      return false
    }
  }

  /** A job that fails does not stop the others. */
  async #do(job: HousekeepingJob, drizzle: Drizzle): Promise<void> {
    const { clock, log, name: housekeeping } = this.#ports
    const before = this.#removed.get(job.name) ?? 0
    await this.#guard(job.name, () => this.#removeAll(job, drizzle, rfc3339(clock.now())))
    const count = (this.#removed.get(job.name) ?? 0) - before
    if (count > 0) log.info({ housekeeping, job: job.name, count }, 'Removed expired rows')
  }

  async #guard(job: string, work: () => Promise<void>): Promise<void> {
    const { log, name: housekeeping } = this.#ports
    try {
      await work()
    } catch (err) {
      log.warn({ err, housekeeping, job }, 'Housekeeping failed')
    }
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
