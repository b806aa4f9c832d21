/** The process of a deal server on PostgreSQL and Redis. */

import { join } from 'node:path'
import { dealConsole } from '../console/deal-console.ts'
import { migrateDatabase } from '../shared/platform/database/migrate.ts'
import { prepareDatabase } from '../shared/platform/database/prepare.ts'
import { openPostgres } from '../shared/platform/postgres/postgres.ts'
import { runServer, type ServerProcess } from '../shared/platform/process/run-server.ts'
import { projectFolder } from '../shared/platform/project-folder.ts'
import { sharedProblems } from '../shared/protocol/problems/both-servers.ts'
import { warnOfWays } from '../shared/server/settings/warn-of-ways.ts'
import { readDealConfig } from './config.ts'
import { createDealServer } from './server.ts'

const { config, problems: settingProblems } = readDealConfig('alone')

await runServer(
  {
    title: 'Deal server',
    config,
    settingProblems,
    servers: ['deal'],
    ports: { DEAL_PORT: config.port, METRICS_PORT: config.metricsPort },
    problems: sharedProblems,
    prepare: (log) => {
      warnOfWays(log, { databases: { DEAL_DATABASE_URL: config.databaseUrl }, redisUrl: config.redisUrl })
    },
  },
  startDealServer,
)

async function startDealServer(serverProcess: ServerProcess): Promise<() => Promise<void>> {
  const database = openPostgres(config.databaseUrl ?? '', config.databaseSessions)
  const migrations = { migrationsFolder: join(projectFolder, 'deal-server/store/migrations'), schema: 'deals' }
  await prepareDatabase('DEAL_DATABASE_URL', () => migrateDatabase(database, migrations))
  const tracing = await serverProcess.openTracing('deal')
  const [serviceSecret] = serverProcess.serviceSecrets
  const server = createDealServer(config, { ...serverProcess, database, tracing, serviceSecret, console: dealConsole })
  await server.start()
  await serverProcess.listen(config, server.app)
  return async () => {
    await server.stop()
    await database.close()
  }
}
