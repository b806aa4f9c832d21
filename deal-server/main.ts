/** The process of one deal server on PostgreSQL and Redis: read the configuration, create, listen, drain on a signal. */
import { join } from 'node:path'
import { openCache } from '../shared/cache/open-cache.ts'
import { reportForgeries } from '../shared/cache/report-forgeries.ts'
import { systemClock } from '../shared/clock.ts'
import { migrateDatabase } from '../shared/database/migrate.ts'
import { openPostgres } from '../shared/database/postgres.ts'
import { prepareDatabase } from '../shared/database/prepare.ts'
import { generatedSecret } from '../shared/generated-secrets.ts'
import { certificateProblems, openCertificate } from '../shared/http/certificate.ts'
import { Draining } from '../shared/http/draining.ts'
import { listen } from '../shared/http/listen.ts'
import { createIdSource } from '../shared/ids.ts'
import { createLog } from '../shared/log.ts'
import { createMetrics } from '../shared/metrics/metrics.ts'
import { listenForMetrics } from '../shared/metrics/serve-metrics.ts'
import { beginServer, closeOnSignal, requireSettings } from '../shared/process.ts'
import { warnOfUnverifiedWays } from '../shared/unverified-ways.ts'
import { readDealConfig } from './config.ts'
import { createDealServer } from './server.ts'

beginServer()
const { config, problems } = readDealConfig('alone')
requireSettings([...problems, ...(await certificateProblems(config.tls))])
const log = createLog(config.log)
warnOfUnverifiedWays(log, { databases: { DEAL_DATABASE_URL: config.databaseUrl }, redisUrl: config.redisUrl })
const ids = createIdSource(systemClock)
const certificate = await openCertificate(config.tls, { log })
const database = openPostgres(config.databaseUrl ?? '')
const serviceSecrets = config.serviceSecrets ?? [await generatedSecret(config.dataDir, 'service-secret')]
const forgeries = reportForgeries({ log, clock: systemClock })
const cache = openCache({
  redisUrl: config.redisUrl,
  clock: systemClock,
  secrets: serviceSecrets,
  onListenerError: (err) => log.error({ err }),
  onForgery: forgeries.note,
})
await prepareDatabase('DEAL_DATABASE_URL', async () => {
  await migrateDatabase(database, { migrationsFolder: join(import.meta.dirname, 'store/migrations'), schema: 'deals' })
})
const [serviceSecret = ''] = serviceSecrets
const metrics = createMetrics()
const draining = new Draining()
forgeries.observe(metrics, 'deal')
const server = createDealServer(config, {
  database,
  cache,
  clock: systemClock,
  ids,
  log,
  metrics,
  draining,
  serviceSecret,
})
await server.start()
const { host, port, publicOrigin: origin, publicOrigins, metricsPort } = config
const place = { host, origin, publicOrigins, ids, log }
const endMetrics =
  metricsPort === undefined
    ? undefined
    : await listenForMetrics(metrics, { ...place, port: metricsPort, clock: systemClock })
const listening = await listen({ ...place, app: server.app, port, certificate })
log.info(`deal server on ${origin}`)

closeOnSignal(log, async () => {
  await draining.begin(config.drainSeconds)
  await listening.drain()
  await endMetrics?.()
  await server.stop()
  await Promise.all([database.close(), cache.close()])
})
