/** The process of an auth server on PostgreSQL and Redis. */

import { join } from 'node:path'
import { authConsole } from '../console/auth-console.ts'
import type { Clock } from '../shared/platform/clock.ts'
import type { Database } from '../shared/platform/database/database.ts'
import { migrateDatabase } from '../shared/platform/database/migrate.ts'
import { prepareDatabase } from '../shared/platform/database/prepare.ts'
import type { IdSource } from '../shared/platform/ids.ts'
import type { Log } from '../shared/platform/log/log.ts'
import { openPostgres } from '../shared/platform/postgres/postgres.ts'
import { generatedSecret } from '../shared/platform/process/generated-secrets.ts'
import { requireSettings } from '../shared/platform/process/process.ts'
import { runServer, type ServerProcess } from '../shared/platform/process/run-server.ts'
import { projectFolder } from '../shared/platform/project-folder.ts'
import { sharedProblems } from '../shared/protocol/problems/both-servers.ts'
import { warnOfWays } from '../shared/server/settings/warn-of-ways.ts'
import { duringFirstStart, firstStart } from './audit/first-start.ts'
import { readAuthConfig } from './config.ts'
import { createKeyRing } from './key-ring/create-key-ring.ts'
import { openKeyRing } from './key-ring/key-ring.ts'
import { type AuthServer, createAuthServer } from './server.ts'
import { ensureAnonymous } from './users/create-user.ts'
import { createFirstAdmin, demoUserProblems } from './wiring/bootstrap.ts'

const { config, problems: settingProblems } = readAuthConfig('alone')

await runServer(
  {
    title: 'Auth server',
    config,
    settingProblems,
    servers: ['auth'],
    ports: { AUTH_PORT: config.port, METRICS_PORT: config.metricsPort },
    problems: sharedProblems,
    prepare: (log) =>
      warnOfWays(log, { databases: { AUTH_DATABASE_URL: config.databaseUrl }, redisUrl: config.redisUrl }),
  },
  startAuthServer,
)

async function startAuthServer(serverProcess: ServerProcess): Promise<() => Promise<void>> {
  const keyRing = await openRing(serverProcess)
  const database = openPostgres(config.databaseUrl ?? '', config.databaseSessions)
  await prepareDatabase('AUTH_DATABASE_URL', () => migrate({ ...serverProcess, database }))
  const secretsKeys = config.secretsKeys ?? [await generatedSecret(config.dataDir, 'secrets-key')]
  const tracing = await serverProcess.openTracing('auth')
  const resources = { ...serverProcess, database, keyRing, secretsKeys, tracing, console: authConsole }
  const server = createAuthServer(config, resources)
  requireSettings(await prepareDatabase('AUTH_DATABASE_URL', () => demoUserProblems(config, server)))
  server.start()
  await prepareDatabase('AUTH_DATABASE_URL', () => prepareUsers(server, serverProcess))
  await serverProcess.listen(config, server.app)
  return async () => {
    await server.stop()
    await Promise.all([keyRing.close(), database.close()])
  }
}

async function openRing({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
  const { keysDir: directory, newKeys, operator = null } = config
  const by = { operator, reason: firstStart }
  if (await createKeyRing(directory, { ...newKeys, clock, by })) log.info(`A new key ring is in ${directory}`)
  return openKeyRing({ directory, passphrase: newKeys.passphrase }, log)
}

async function migrate(ports: {
  readonly database: Database
  readonly clock: Clock
  readonly ids: IdSource
}): Promise<void> {
  const migrationsFolder = join(projectFolder, 'auth-server/store/migrations')
  await migrateDatabase(ports.database, { migrationsFolder, schema: 'auth' })
  await ensureAnonymous(ports)
}

async function prepareUsers({ users, audit, prepare }: AuthServer, { ids }: ServerProcess): Promise<void> {
  await prepare()
  if (!(await users.isEmpty())) return
  await duringFirstStart(audit, config.operator, () => createFirstAdmin({ users, ids, config }))
}
