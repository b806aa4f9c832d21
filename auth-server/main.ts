/** The process of one auth server on PostgreSQL and Redis: read the configuration, create, listen, drain on a signal. */
import { join } from 'node:path'
import { openCache } from '../shared/cache/open-cache.ts'
import { systemClock } from '../shared/clock.ts'
import { migrateDatabase } from '../shared/database/migrate.ts'
import { openPostgres } from '../shared/database/postgres.ts'
import { generatedSecret } from '../shared/generated-secrets.ts'
import { certificateProblems } from '../shared/http/certificate.ts'
import { listen } from '../shared/http/listen.ts'
import { createIdSource } from '../shared/ids.ts'
import { createLog } from '../shared/log.ts'
import { createMetrics } from '../shared/metrics/metrics.ts'
import { listenForMetrics } from '../shared/metrics/serve-metrics.ts'
import { closeOnSignal, endWith, requireCertificate, requireListening, requireSettings } from '../shared/process.ts'
import { readAuthConfig } from './config.ts'
import { createFirstAdmin, demoUserProblems } from './first-start.ts'
import { createKeyRing } from './key-ring/create-key-ring.ts'
import { openKeyRing } from './key-ring/key-ring.ts'
import { KeyRingError } from './key-ring/keyring-file.ts'
import { createAuthServer } from './server.ts'
import { ensureAnonymous } from './users/create-user.ts'

const { config, problems } = readAuthConfig('alone')
requireSettings([...problems, ...(await certificateProblems(config.tls))])
const log = createLog(config.log)
const ids = createIdSource(systemClock)
const certificate = await requireCertificate(config.tls, log)
const clock = systemClock
const keyRing = await openRing()
const database = openPostgres(config.databaseUrl ?? '')
const cache = openCache({ redisUrl: config.redisUrl, clock, onListenerError: (err) => log.error({ err }) })
try {
  await migrateDatabase(database, { migrationsFolder: join(import.meta.dirname, 'store/migrations'), schema: 'auth' })
  await ensureAnonymous({ database, clock, ids })
} catch (error) {
  log.fatal({ err: error }, 'the database could not be prepared')
  endWith(1, 'The database of the auth server cannot be reached or prepared: see the log.')
}
const serviceSecrets = config.serviceSecrets ?? [await generatedSecret(config.dataDir, 'service-secret')]
const secretsKeys = config.secretsKeys ?? [await generatedSecret(config.dataDir, 'secrets-key')]
const metrics = createMetrics()
const server = createAuthServer(config, {
  database,
  cache,
  clock,
  ids,
  log,
  metrics,
  keyRing,
  serviceSecrets,
  secretsKeys,
})
requireSettings(await demoUserProblems(config, server.users))
server.start()
if (await server.users.isEmpty()) await createFirstAdmin(server.users, ids)
const { host, port, metricsPort } = config
const listening = await requireListening(
  config,
  listen({ app: server.app, host, port, origin: config.publicOrigin, ids, certificate }),
)
log.info(`auth server on ${config.publicOrigin}`)
const endMetrics =
  metricsPort === undefined
    ? undefined
    : await requireListening({ host, port: metricsPort }, listenForMetrics(metrics, { host, port: metricsPort }))

closeOnSignal(log, async () => {
  await listening.drain()
  await endMetrics?.()
  await server.stop()
  await Promise.all([keyRing.close(), database.close(), cache.close()])
})

async function openRing() {
  const { keysDir, keysPassphrase: passphrase, keyBits: bits } = config
  try {
    if (await createKeyRing(keysDir, { bits, passphrase, clock })) log.info(`a new key ring is in ${keysDir}`)
    return await openKeyRing({ directory: keysDir, passphrase }, log)
  } catch (error) {
    if (error instanceof KeyRingError) endWith(2, error.message)
    throw error
  }
}
