/** The process of one deal server with PostgreSQL and Redis: reads the settings, listens, and drains on a signal. */

import { join } from 'node:path'
import { reportForgeries } from '../shared/platform/cache/report-forgeries.ts'
import { systemClock } from '../shared/platform/clock.ts'
import { migrateDatabase } from '../shared/platform/database/migrate.ts'
import { prepareDatabase } from '../shared/platform/database/prepare.ts'
import { certificateProblems, openCertificate } from '../shared/platform/http/server/certificate.ts'
import { Draining } from '../shared/platform/http/server/drain.ts'
import { requireFreePorts } from '../shared/platform/http/server/free-ports.ts'
import { listen } from '../shared/platform/http/server/listen.ts'
import { createIdSource } from '../shared/platform/ids.ts'
import { createLog } from '../shared/platform/log/log.ts'
import { observeCertificate } from '../shared/platform/metrics/certificate-metrics.ts'
import { createMetrics } from '../shared/platform/metrics/metrics.ts'
import { listenForMetrics } from '../shared/platform/metrics/serve-metrics.ts'
import { openPostgres } from '../shared/platform/postgres/postgres.ts'
import { openReplicas } from '../shared/platform/postgres/replicas.ts'
import { generatedSecret } from '../shared/platform/process/generated-secrets.ts'
import { beginServer, closeOnSignal, requireSettings } from '../shared/platform/process/process.ts'
import { projectFolder, projectVersion } from '../shared/platform/project-folder.ts'
import { openCache } from '../shared/platform/redis/open-cache.ts'
import { openTracing } from '../shared/platform/tracing/opentelemetry/open-tracing.ts'
import { sharedProblems } from '../shared/protocol/problems/both-servers.ts'
import { warnOfUnverifiedWays } from '../shared/protocol/settings/unverified-connections.ts'
import { readDealConfig } from './config.ts'
import { createDealServer } from './server.ts'

beginServer()
const { config, problems } = readDealConfig('alone')
requireSettings([...problems, ...(await certificateProblems(config.tls))])
await requireFreePorts(config.host, { DEAL_PORT: config.port, METRICS_PORT: config.metricsPort })
const log = createLog(config.log)
warnOfUnverifiedWays(log, {
  databases: { DEAL_DATABASE_URL: config.databaseUrl, DEAL_READ_URL: config.readUrl },
  redisUrl: config.redisUrl,
})
const ids = createIdSource(systemClock)
const certificate = await openCertificate(config.tls, { log })
const database = openPostgres(config.databaseUrl ?? '')
const replicas = openReplicas(config.readUrl)
const serviceSecrets = config.serviceSecrets ?? [await generatedSecret(config.dataDir, 'service-secret')]
const forgeries = reportForgeries({ log, clock: systemClock })
const cache = openCache({
  redisUrl: config.redisUrl,
  clock: systemClock,
  secrets: serviceSecrets,
  onListenerError: (err) => log.error({ err }),
  onForgery: forgeries.note,
  onAdvice: (sentence) => log.warn(`REDIS_URL: ${sentence}`),
})
await prepareDatabase('DEAL_DATABASE_URL', async () => {
  await migrateDatabase(database, {
    migrationsFolder: join(projectFolder, 'deal-server/store/migrations'),
    schema: 'deals',
  })
})
const [serviceSecret = ''] = serviceSecrets
const metrics = createMetrics()
const draining = new Draining()
const tracing = await openTracing(config.tracing, {
  service: 'keyhold-deal',
  version: projectVersion(),
  instance: ids.uuid(),
  log,
})
forgeries.observe(metrics, 'deal')
observeCertificate(metrics, 'deal', certificate)
const server = createDealServer(config, {
  database,
  replicas,
  cache,
  clock: systemClock,
  ids,
  log,
  metrics,
  tracing,
  draining,
  serviceSecret,
})
await server.start()
const { host, port, publicOrigin: origin, publicOrigins, metricsPort } = config
const place = { host, origin, publicOrigins, problems: sharedProblems, ids, log }
const endMetrics =
  metricsPort === undefined
    ? undefined
    : await listenForMetrics(metrics, { ...place, port: metricsPort, clock: systemClock })
const listening = await listen({ ...place, app: server.app, port, certificate })
log.info(`Deal server on ${origin}`)

closeOnSignal(log, async () => {
  await draining.begin(config.drainSeconds)
  await listening.drain()
  await endMetrics?.()
  await server.stop()
  await tracing?.close()
  await Promise.all([database, cache, ...replicas].map((part) => part.close()))
})
