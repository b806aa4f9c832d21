/**
 * The life of a process with servers: opens what every server uses, listens, and ends in order. With several workers
 * this process is their supervisor. Each worker is an ordinary server, which gets its connections from there.
 */
import { systemClock } from '../clock.ts'
import { certificateProblems } from '../http/server/certificate.ts'
import { Draining } from '../http/server/drain.ts'
import { requireFreePorts } from '../http/server/free-ports.ts'
import { type Listening, type ListenOptions, listen } from '../http/server/listen.ts'
import { createIdSource } from '../ids.ts'
import { createLog, type Log } from '../log/log.ts'
import type { LogSettings } from '../log/log-settings.ts'
import type { Metrics, ServerName } from '../metrics/metrics.ts'
import { listenForMetrics } from '../metrics/serve-metrics.ts'
import type { OperatorError } from '../operator-error.ts'
import type { PlatformProblems } from '../problems/problem-document.ts'
import type { SettingProblem } from '../settings/settings.ts'
import { Supervisor } from '../workers/supervisor.ts'
import { thisWorker, type Worker } from '../workers/worker.ts'
import { beginServer, closeOnSignal, endAfter, endWith, goOnAt, requireSettings } from './process.ts'
import { openResources, type ResourceSettings, type Resources } from './resources.ts'

type ServerPlace = Pick<ListenOptions, 'host' | 'port' | 'publicOrigins'> & { readonly publicOrigin: string }

interface ProcessSettings extends ResourceSettings, ServerPlace {
  readonly metricsPort: number | undefined
  readonly workers: number
  readonly drainSeconds: number
  readonly log: LogSettings
}

interface ServerStart {
  /** Its name in the log. */
  readonly title: string
  readonly config: ProcessSettings
  /** The process does not start with any. */
  readonly settingProblems: readonly SettingProblem[]
  /** The servers of this process. */
  readonly servers: readonly ServerName[]
  /** The ports that must be free, by the names of their settings. */
  readonly ports: Readonly<Record<string, number | undefined>>
  /** The problems of requests that no server sees. */
  readonly problems: PlatformProblems
  /** Called once a server, before anything is opened: not in its workers. */
  prepare?(log: Log): Promise<void> | void
}

/** A process, for the servers in it. */
export interface ServerProcess extends Resources {
  readonly draining: Draining
  /** Serves `app` there. @throws OperatorError when the port is refused */
  listen(place: ServerPlace, app: ListenOptions['app']): Promise<void>
}

/** Makes the servers of a process, which listen then. Resolves to the function that closes them. */
export type CreateServers = (serverProcess: ServerProcess) => Promise<() => Promise<void>>

/** Runs this process to its end. Resolves when it serves. @throws OperatorError */
export async function runServer(start: ServerStart, create: CreateServers): Promise<void> {
  const { config, settingProblems, ports } = start
  beginServer()
  const worker = thisWorker()
  requireSettings([...settingProblems, ...(await certificateProblems(config.tls))])
  if (!worker) await requireFreePorts(config.host, ports)
  const log = createLog({ ...config.log, worker: worker?.number })
  if (!worker) await start.prepare?.(log)
  if (!worker && config.workers > 1) await supervise(start, log)
  else await serve(start, { create, log, worker })
}

interface Serving {
  readonly create: CreateServers
  readonly log: Log
  /** This process as a worker; undefined when it serves alone. */
  readonly worker: Worker | undefined
}

/** Serves in this process, alone or as a worker. */
async function serve(start: ServerStart, { create, log, worker }: Serving): Promise<void> {
  const { config, title, problems, servers } = start
  const resources = await openResources(config, { log, servers })
  const { metrics, ids, certificate } = resources
  const draining = new Draining()
  const listenings: Listening[] = []
  worker?.onMetrics(() => metrics.text())
  if (!worker) {
    goOnAt('SIGHUP', log, { sentence: 'reading the certificate again; settings are read at a start' })
    goOnAt('SIGUSR2', log, { sentence: 'there are no workers to replace' })
  }
  const endMetrics = worker ? undefined : await openMetricsPort(start, { metrics, log })
  const close = await create({
    ...resources,
    metrics: worker ? { ...metrics, text: worker.metricsOfAll } : metrics,
    draining,
    listen: async ({ host, port, publicOrigin: origin, publicOrigins }, app) => {
      const place = { host, port, origin, publicOrigins, connections: worker?.onConnection }
      listenings.push(await listen({ ...place, app, problems, ids, log, certificate }))
      if (!worker) log.info(`${title} on ${origin}`)
    },
  })
  const closeAll = async () => {
    await Promise.all(listenings.map((listening) => listening.drain()))
    await endMetrics?.()
    await close()
    await resources.close()
  }
  if (worker) {
    worker.onDraining(() => void draining.begin(0))
    worker.onEnd(() => endAfter(closeAll, log))
    worker.ready()
    return
  }
  closeOnSignal(log, async () => {
    await draining.begin(config.drainSeconds)
    await closeAll()
  })
}

/** Lets workers serve, and serves nothing but the metrics itself. */
async function supervise(start: ServerStart, log: Log): Promise<void> {
  const { config, title } = start
  const { host, port, workers, drainSeconds } = config
  const onHopeless = ({ exitCode, message }: OperatorError) => {
    supervisor.kill()
    endWith(exitCode, message)
  }
  const supervisor: Supervisor = new Supervisor({ workers, host, port, log, onHopeless })
  const replaceAll = () =>
    void supervisor.replaceAll().catch((err: unknown) => log.error({ err }, 'The workers could not be replaced'))
  goOnAt('SIGHUP', log, { sentence: 'the workers read the certificate again', work: () => supervisor.reload() })
  goOnAt('SIGUSR2', log, { sentence: 'replacing the workers one after the other', work: replaceAll })
  const endMetrics = await openMetricsPort(start, { metrics: { text: () => supervisor.metrics() }, log })
  await supervisor.start()
  log.info(`${title} on ${config.publicOrigin}`)
  closeOnSignal(log, async () => {
    supervisor.announceEnd()
    await new Draining().begin(drainSeconds)
    await supervisor.end()
    await endMetrics?.()
  })
}

/** Serves the metrics on METRICS_PORT, if there is one. Resolves to the function that ends it. */
async function openMetricsPort(
  { config, problems }: ServerStart,
  { metrics, log }: { readonly metrics: Pick<Metrics, 'text'>; readonly log: Log },
): Promise<(() => Promise<void>) | undefined> {
  const { host, metricsPort: port, publicOrigin: origin, publicOrigins } = config
  if (port === undefined) return undefined
  const ids = createIdSource(systemClock)
  return listenForMetrics(metrics, { host, port, origin, publicOrigins, problems, ids, log, clock: systemClock })
}
