/** The process of one auth server on PostgreSQL and Redis: reads settings, creates the server, listens, drains. */

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
import { generatedSecret } from '../shared/platform/process/generated-secrets.ts'
import { beginServer, requireSettings } from '../shared/platform/process/process.ts'
import { projectFolder, projectVersion } from '../shared/platform/project-folder.ts'
import { openCache } from '../shared/platform/redis/open-cache.ts'
import { openTracing } from '../shared/platform/tracing/opentelemetry/open-tracing.ts'
import { Machine } from '../shared/platform/workers/machine.ts'
import { thisWorker } from '../shared/platform/workers/worker.ts'
import { sharedProblems } from '../shared/protocol/problems/both-servers.ts'
import { warnOfUnverifiedWays } from '../shared/protocol/settings/unverified-connections.ts'
import { duringFirstStart, firstStart } from './audit/first-start.ts'
import { createFirstAdmin, demoUserProblems } from './bootstrap.ts'
import { readAuthConfig } from './config.ts'
import { createKeyRing } from './key-ring/create-key-ring.ts'
import { openKeyRing } from './key-ring/key-ring.ts'
import { createAuthServer } from './server.ts'
import { ensureAnonymous } from './users/create-user.ts'

beginServer()
const worker = thisWorker()
const { config, problems } = readAuthConfig('alone')
requireSettings([...problems, ...(await certificateProblems(config.tls))])
if (!worker) await requireFreePorts(config.host, { AUTH_PORT: config.port, METRICS_PORT: config.metricsPort })
const log = createLog({ ...config.log, worker: worker?.number })
const machine = new Machine({ worker, workers: config.workers, host: config.host, port: config.port, log })
if (machine.isFirst)
  warnOfUnverifiedWays(log, { databases: { AUTH_DATABASE_URL: config.databaseUrl }, redisUrl: config.redisUrl })
const ids = createIdSource(systemClock)
const certificate = await openCertificate(config.tls, { log })
const clock = systemClock
const keyRing = await openRing()
const database = openPostgres(config.databaseUrl ?? '', machine.sessions())
const serviceSecrets = config.serviceSecrets ?? [await generatedSecret(config.dataDir, 'service-secret')]
const forgeries = reportForgeries({ log, clock })
const opened = openCache({
  redisUrl: config.redisUrl,
  clock,
  secrets: serviceSecrets,
  onListenerError: (err) => log.error({ err }),
  onForgery: forgeries.note,
  onAdvice: (sentence) => log.warn(`REDIS_URL: ${sentence}`),
})
const cache = machine.cache(opened)
if (machine.isFirst) await prepareDatabase('AUTH_DATABASE_URL', migrate)
const secretsKeys = config.secretsKeys ?? [await generatedSecret(config.dataDir, 'secrets-key')]
const metrics = machine.metrics(createMetrics())
const draining = new Draining()
const tracing = await openTracing(config.tracing, {
  service: 'keyhold-auth',
  version: projectVersion(),
  instance: ids.uuid(),
  log,
})
forgeries.observe(metrics, 'auth')
observeCertificate(metrics, 'auth', certificate)
const server = createAuthServer(
  {
    ...config,
    hashConcurrency: machine.share(config.hashConcurrency),
    downloads: machine.shareLimits(config.downloads),
  },
  {
    database,
    cache,
    clock,
    ids,
    log,
    metrics,
    tracing,
    draining,
    machine: machine.role,
    keyRing,
    serviceSecrets,
    secretsKeys,
  },
)
if (machine.isFirst) requireSettings(await prepareDatabase('AUTH_DATABASE_URL', () => demoUserProblems(config, server)))
server.start()
if (machine.isFirst) await prepareDatabase('AUTH_DATABASE_URL', prepareUsers)
const { host, port, publicOrigin: origin, publicOrigins, metricsPort } = config
const listenerOptions = { host, origin, publicOrigins, problems: sharedProblems, ids, log }
const endMetrics =
  metricsPort === undefined || !machine.isFirst
    ? undefined
    : await listenForMetrics(metrics, { ...listenerOptions, port: metricsPort, clock })
await machine.listen({ ...listenerOptions, app: server.app, port, certificate })
if (machine.isFirst) log.info(`Auth server on ${origin}`)

const close = async () => {
  await endMetrics?.()
  await server.stop()
  await tracing?.close()
  await Promise.all([keyRing.close(), database.close(), cache.close()])
}
machine.onEnd({ draining, drainSeconds: config.drainSeconds, close })

async function openRing() {
  const { keysDir, keysPassphrase: passphrase, keyBits: bits, operator = null } = config
  const ring = { bits, passphrase, clock, by: { operator, reason: firstStart } }
  if (machine.isFirst && (await createKeyRing(keysDir, ring))) log.info(`A new key ring is in ${keysDir}`)
  return openKeyRing({ directory: keysDir, passphrase }, log)
}

async function migrate(): Promise<void> {
  const migrationsFolder = join(projectFolder, 'auth-server/store/migrations')
  await migrateDatabase(database, { migrationsFolder, schema: 'auth' })
  await ensureAnonymous({ database, clock, ids })
}

async function prepareUsers(): Promise<void> {
  await server.prepare()
  if (!(await server.users.isEmpty())) return
  const { audit, users } = server
  await duringFirstStart(audit, config.operator, () => createFirstAdmin({ users, ids, config }))
}
