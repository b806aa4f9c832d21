/**
 * Lets writes through while PostgreSQL finishes them. A commit that needs a standby (`synchronous_standby_names`) waits
 * for it without limit: PostgreSQL has no timeout for this wait, and ending it would make the commit a local one. So a
 * commit that waits too long closes the gate. All writes are then refused at once, the waiting ones stay as they are,
 * and a small write shows when commits succeed again.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Availability } from '../concurrency/availability.ts'
import { Permits, type PermitWait } from '../concurrency/permits.ts'
import { databaseWrites } from '../database/database.ts'
import { unavailable } from '../database/driver-errors.ts'
import { Unavailable } from '../problems/errors.ts'

interface WriteGateOptions {
  /** How many writes run at once; `maxWrites` when left out. With commits of transactions it is one more. */
  readonly writes?: number
  /** How long a write waits for its turn, in milliseconds. */
  readonly waitTimeoutMs: number
  /** The commits that wait for a standby now. Each text stands for one commit and for no other one. */
  readonly readWaiting: () => Promise<readonly string[]>
  /** A small write, which needs the standby too. Resolves when it is committed. */
  readonly probe: () => Promise<unknown>
}

/**
 * How many writes of a server run at once. With commits of transactions it is one more; no more wait for a standby. By
 * 32 callers, more of them made no difference to the rate; with two, two that wait for locks hold back all others.
 */
export const maxWrites = 4

const tickMs = 100
/** A write that takes so long makes the gate look for commits that wait. */
const slowAfterTicks = 3
/** A commit that was waiting in this many looks, one for each tick, is stuck: a second after its write began. */
const stuckAfterLooks = 7
const probeIntervalMs = 250

const unconfirmed = () => {
  const cause = new Error('commits wait for a standby: none of synchronous_standby_names confirms them')
  return new Unavailable(databaseWrites, { cause })
}

/** A caller whose write is under way. */
interface Call {
  /** Why the caller has been refused. What was not yet sent to PostgreSQL must then not be sent. */
  refused?: Unavailable
}

/** Runs a write in its turn. */
export type Pass = <Result>(write: () => Promise<Result>) => Promise<Result>

/** The gate of one database. */
export class WriteGate {
  readonly #options: WriteGateOptions
  readonly #places: Permits
  /** One less: a write may wait for a lock that only the commit of a transaction releases. */
  readonly #writePlaces: Permits
  readonly #availability: Availability
  readonly #callers = new Set<(reason: Unavailable) => void>()
  /** The writes that run, with their ages in ticks. */
  readonly #running = new Set<{ ticks: number }>()
  #timer: NodeJS.Timeout | undefined
  /** The commits that were waiting in each of the last looks, and the number of these looks. */
  #waiting = { commits: [] as readonly string[], looks: 0 }
  #isLooking = false

  constructor(options: WriteGateOptions) {
    const { writes = maxWrites } = options
    this.#places = new Permits(writes + 1)
    this.#writePlaces = new Permits(writes)
    this.#options = options
    this.#availability = new Availability({ probe: () => this.#probe(), probeIntervalMs })
  }

  /** True while commits wait for a standby. Their sessions are silent, and must not be given up. */
  get isWaiting(): boolean {
    return this.#waiting.looks >= stuckAfterLooks
  }

  /** @throws Unavailable while the gate is closed */
  check(): void {
    this.#availability.check()
  }

  /** Runs one write. @throws Unavailable when the gate is closed before the write is done */
  run<Result>(write: () => Promise<Result>): Promise<Result> {
    return this.#untilClosed((call) => this.#writePlaces.run(() => this.#inTurn(call, write), this.#wait))
  }

  /** Runs one commit. It never waits behind a write. @throws Unavailable when the gate is closed before it is done */
  commit<Result>(write: () => Promise<Result>): Promise<Result> {
    return this.#untilClosed((call) => this.#inTurn(call, write))
  }

  /**
   * Runs `work`, which passes its commit to its argument.
   *
   * @throws Unavailable when the gate is closed before `work` is done. A commit that was not yet sent then fails.
   */
  runTransaction<Result>(work: (commit: Pass) => Promise<Result>): Promise<Result> {
    return this.#untilClosed((call) => work((commit) => this.#inTurn(call, commit)))
  }

  get #wait(): PermitWait {
    const { waitTimeoutMs: timeoutMs } = this.#options
    return { timeoutMs, onTimeout: () => unavailable(`no write ended within ${timeoutMs} ms`) }
  }

  /** Refuses all callers from now on. */
  stop(): void {
    clearInterval(this.#timer)
    this.#availability.stop(unavailable('closed'))
  }

  async #untilClosed<Result>(work: (call: Call) => Promise<Result>): Promise<Result> {
    this.check()
    return new Promise((resolve, reject) => {
      const call: Call = {}
      const refuse = (reason: Unavailable) => {
        call.refused = reason
        reject(reason)
      }
      this.#callers.add(refuse)
      work(call)
        .finally(() => this.#callers.delete(refuse))
        .then(resolve, reject)
    })
  }

  #inTurn<Result>(call: Call, write: () => Promise<Result>): Promise<Result> {
    const start = async () => {
      if (call.refused !== undefined) throw call.refused
      return this.#watched(write)
    }
    return this.#places.run(start, this.#wait)
  }

  async #watched<Result>(write: () => Promise<Result>): Promise<Result> {
    const running = { ticks: 0 }
    this.#running.add(running)
    this.#timer ??= setInterval(() => this.#tick(), tickMs).unref()
    try {
      return await write()
    } finally {
      this.#running.delete(running)
    }
  }

  #tick(): void {
    let isSlow = false
    for (const running of this.#running) {
      running.ticks += 1
      isSlow ||= running.ticks >= slowAfterTicks
    }
    if (this.#running.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    if (isSlow && !this.#isLooking) void this.#closeIfStuck()
  }

  async #closeIfStuck(): Promise<void> {
    await this.#look()
    if (!this.isWaiting) return
    const reason = unconfirmed()
    this.#availability.suspend(reason)
    for (const refuse of this.#callers) refuse(reason)
    this.#callers.clear()
  }

  /** Looks for waiting commits. A commit that a standby confirms is there for a look or two; a stuck one stays. */
  async #look(): Promise<void> {
    this.#isLooking = true
    const none: readonly string[] = []
    const now = await this.#options.readWaiting().catch(() => none)
    this.#isLooking = false
    const { commits, looks } = this.#waiting
    const still = commits.filter((commit) => now.includes(commit))
    this.#waiting = still.length > 0 ? { commits: still, looks: looks + 1 } : { commits: now, looks: 0 }
  }

  /**
   * Sends nothing while a commit that was waiting a moment ago still waits, of this server or of another one:
   * connections can end in the middle of the wait, but PostgreSQL keeps their sessions until the standby is back.
   */
  async #probe(): Promise<void> {
    await this.#look()
    if (this.#waiting.commits.length > 0 && this.#waiting.looks === 0) {
      await pause(probeIntervalMs)
      await this.#look()
    }
    if (this.#waiting.looks > 0) throw unconfirmed()
    try {
      await this.#places.run(() => this.#watched(this.#options.probe))
    } catch (cause) {
      throw new Unavailable(databaseWrites, { cause })
    }
  }
}
