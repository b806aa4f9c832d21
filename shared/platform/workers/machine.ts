/** One server on one machine: a process alone, or a primary process and its workers. The same program runs as each. */
import type { Cache } from '../cache/cache.ts'
import type { Draining } from '../http/server/drain.ts'
import { type Listening, type ListenOptions, listen } from '../http/server/listen.ts'
import type { UserLimitsOptions } from '../http/user-limits.ts'
import type { Log } from '../log/log.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { closeOnSignal, endWith } from '../process/process.ts'
import { metricsOfWorker, sumOfMachine, tellLastMetrics } from './machine-metrics.ts'
import { Workers } from './primary.ts'
import type { MachineRole } from './role.ts'
import { shareSubscriptions, subscribeByPrimary } from './shared-subscriptions.ts'
import { closeWithPrimary, type Worker } from './worker.ts'

/** The place of a server, and the process of it that this one is. */
export interface MachineOptions {
  /** This process as a worker; undefined when it is none. */
  readonly worker: Worker | undefined
  /** WORKERS. With 1, the process runs alone. */
  readonly workers: number
  readonly host: string
  readonly port: number
  readonly log: Log
}

/** How a server ends. */
export interface EndOptions {
  readonly draining: Draining
  readonly drainSeconds: number
  /** Called when all requests are answered. */
  close(): Promise<void>
}

/** The sessions at PostgreSQL of one process, for `openPostgres`. */
interface SessionShares {
  readonly pipelines: number
  readonly sessions: number
  readonly writes: number
}

/** So many sessions of each kind has a server that runs alone. */
const sessionsAlone = 4

/** This process among those of its server. */
export class Machine {
  readonly role: MachineRole
  /** False in a worker: the primary process does for all of them what is done once. */
  readonly isFirst: boolean
  readonly #options: MachineOptions
  readonly #primary: Workers | undefined
  #own: Metrics | undefined
  #listening: Listening | undefined
  #endSubscriptions: (() => Promise<void>) | undefined

  constructor(options: MachineOptions) {
    const { worker, workers } = options
    this.#options = options
    this.#primary =
      worker || workers === 1
        ? undefined
        : new Workers({ ...options, onHopeless: ({ exitCode, message }) => this.#giveUp(exitCode, message) })
    this.role = { primary: this.#primary, worker: worker?.channel }
    this.isFirst = worker === undefined
  }

  /** The part of a worker in a number that holds for the machine, at least 1. The primary process has 1. */
  share(total: number): number {
    if (this.#primary) return 1
    return this.#options.worker ? Math.max(1, Math.floor(total / this.#options.workers)) : total
  }

  /** The part of a worker in limits for users that hold for the machine. */
  shareLimits = ({ maxOfUser, maxInAll }: UserLimitsOptions): UserLimitsOptions => ({
    maxOfUser: this.share(maxOfUser),
    maxInAll: this.share(maxInAll),
  })

  /** The sessions of this process at PostgreSQL. */
  sessions(): SessionShares {
    const each = this.share(sessionsAlone)
    return { pipelines: each, sessions: each, writes: each }
  }

  /** The cache as this process uses it: workers share the subscriptions of the machine. */
  cache(opened: Cache): Cache {
    const { worker, log } = this.#options
    if (worker) return subscribeByPrimary(opened, worker.channel, (err) => log.error({ err }))
    if (this.#primary) this.#endSubscriptions = shareSubscriptions(this.#primary, opened)
    return opened
  }

  /** The metrics that this process counts in; their text is that of the machine. */
  metrics(own: Metrics): Metrics {
    const { worker } = this.#options
    this.#own = own
    if (worker) return metricsOfWorker(worker.channel, own)
    return this.#primary ? sumOfMachine(this.#primary, own) : own
  }

  /** Serves `app`, here or in the workers. @throws OperatorError when the port is refused, or no worker starts */
  async listen(options: ListenOptions): Promise<void> {
    const { worker } = this.#options
    if (this.#primary) return this.#primary.start()
    this.#listening = await listen({ ...options, connections: worker?.onConnection })
    worker?.ready()
  }

  /** From now on ends this process in order when it is told to. A worker ends when its primary process says so. */
  onEnd({ draining, drainSeconds, close }: EndOptions): void {
    const { worker, log } = this.#options
    const closeThis = async () => {
      await this.#listening?.drain()
      await close()
    }
    if (worker) {
      closeWithPrimary(worker, {
        onDraining: () => void draining.begin(0),
        close: async () => {
          await closeThis()
          if (this.#own) await tellLastMetrics(worker.channel, this.#own)
        },
      })
      return
    }
    closeOnSignal(log, async () => {
      this.#primary?.announceEnd()
      await draining.begin(drainSeconds)
      await this.#primary?.end()
      await this.#endSubscriptions?.()
      await closeThis()
    })
    const primary = this.#primary
    if (!primary) return
    process.on('SIGUSR2', () => {
      log.info('SIGUSR2: replacing the workers one after the other')
      primary.replaceAll().catch((err: unknown) => log.error({ err }, 'The workers could not be replaced'))
    })
  }

  #giveUp(exitCode: number, message: string): never {
    this.#primary?.kill()
    endWith(exitCode, message)
  }
}
