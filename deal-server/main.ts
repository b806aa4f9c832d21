/** The process of one deal server with PostgreSQL and Redis: reads the settings, listens, and drains on a signal. */

import { join } from 'node:path'
import { reportForgeries } from '../shared/platform/cache/report-forgeries.ts'
import { systemClock } from '../shared/platform/clock.ts'
import { migrateDatabase } from '../shared/platform/database/migrate.ts'
import { prepareDatabase } from '../shared/platform/database/prepare.ts'
import { certificateProblems, openCertificate } from '../shared/platform/http/server/certificate.ts'
import { Draining } from '../shared/platform/http/server/drain.ts'
import { requireFreePorts } from '../shared/platform/http/server/free-ports.ts'
import { createIdSource } from '../shared/platform/ids.ts'
import { createLog } from '../shared/platform/log/log.ts'
import { observeCertificate } from '../shared/platform/metrics/certificate-metrics.ts'
import { createMetrics } from '../shared/platform/metrics/metrics.ts'
import { listenForMetrics } from '../shared/platform/metrics/serve-metrics.ts'
import { openPostgres } from '../shared/platform/postgres/postgres.ts'
import { openReplicas } from '../shared/platform/postgres/replicas.ts'
import { generatedSecret } from '../shared/platform/process/generated-secrets.ts'
import { beginServer, requireSettings } from '../shared/platform/process/process.ts'
import { projectFolder, projectVersion } from '../shared/platform/project-folder.ts'
import { openCache } from '../shared/platform/redis/open-cache.ts'
import { openTracing } from '../shared/platform/tracing/opentelemetry/open-tracing.ts'
import { Machine } from '../shared/platform/workers/machine.ts'
import { thisWorker } from '../shared/platform/workers/worker.ts'
import { sharedProblems } from '../shared/protocol/problems/both-servers.ts'
import { warnOfUnverifiedWays } from '../shared/protocol/settings/unverified-connections.ts'
import { readDealConfig } from './config.ts'
import { createDealServer } from './server.ts'

beginServer()
const worker = thisWorker()
const { config, problems } = readDealConfig('alone')
requireSettings([...problems, ...(await certificateProblems(config.tls))])
if (!worker) await requireFreePorts(config.host, { DEAL_PORT: config.port, METRICS_PORT: config.metricsPort })
const log = createLog({ ...config.log, worker: worker?.number })
const machine = new Machine({ worker, workers: config.workers, host: config.host, port: config.port, log })
if (machine.isFirst) {
  const databases = { DEAL_DATABASE_URL: config.databaseUrl, DEAL_READ_URL: config.readUrl }
  warnOfUnverifiedWays(log, { databases, redisUrl: config.redisUrl })
}
const ids = createIdSource(systemClock)
const certificate = await openCertificate(config.tls, { log })
const database = openPostgres(config.databaseUrl ?? '', machine.sessions())
const replicas = openReplicas(config.readUrl, machine.share(4))
const serviceSecrets = config.serviceSecrets ?? [await generatedSecret(config.dataDir, 'service-secret')]
const forgeries = reportForgeries({ log, clock: systemClock })
const opened = openCache({
  redisUrl: config.redisUrl,
  clock: systemClock,
  secrets: serviceSecrets,
  onListenerError: (err) => log.error({ err }),
  onForgery: forgeries.note,
  onAdvice: (sentence) => log.warn(`REDIS_URL: ${sentence}`),
})
const cache = machine.cache(opened)
const migrations = { migrationsFolder: join(projectFolder, 'deal-server/store/migrations'), schema: 'deals' }
if (machine.isFirst) await prepareDatabase('DEAL_DATABASE_URL', () => migrateDatabase(database, migrations))
const [serviceSecret = ''] = serviceSecrets
const metrics = machine.metrics(createMetrics())
const draining = new Draining()
const tracing = await openTracing(config.tracing, {
  service: 'keyhold-deal',
  version: projectVersion(),
  instance: ids.uuid(),
  log,
})
forgeries.observe(metrics, 'deal')
observeCertificate(metrics, 'deal', certificate)
const server = createDealServer(
  {
    ...config,
    hashConcurrency: machine.share(config.hashConcurrency),
    batches: machine.shareLimits(config.batches),
    downloads: machine.shareLimits(config.downloads),
  },
  {
    database,
    replicas,
    cache,
    clock: systemClock,
    ids,
    log,
    metrics,
    tracing,
    draining,
    machine: machine.role,
    serviceSecret,
  },
)
await server.start()
const { host, port, publicOrigin: origin, publicOrigins, metricsPort } = config
const place = { host, origin, publicOrigins, problems: sharedProblems, ids, log }
const endMetrics =
  metricsPort === undefined || !machine.isFirst
    ? undefined
    : await listenForMetrics(metrics, { ...place, port: metricsPort, clock: systemClock })
await machine.listen({ ...place, app: server.app, port, certificate })
if (machine.isFirst) log.info(`Deal server on ${origin}`)

const close = async () => {
  await endMetrics?.()
  await server.stop()
  await tracing?.close()
  await Promise.all([database, cache, ...replicas].map((part) => part.close()))
}
machine.onEnd({ draining, drainSeconds: config.drainSeconds, close })
