/** Suites over the tables of deals that Citus spreads over two workers. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe } from 'vitest'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { isEverything } from '../campaign.ts'
import { type CitusCluster, citusSql, missingForCitus, startCitusCluster } from '../processes/stores/citus-cluster.ts'
import { redisServerInstalled } from '../processes/stores/redis-server.ts'
import { type Backend, backendOver, describeBackends, type OpenBackend } from './backends.ts'
import { migrateBoth } from './migrate-both.ts'
import { describeDatabases, type OpenOwnDatabase } from './own-database.ts'

/** A database of its own with the tables of both servers, those of deals spread over the workers. */
async function openSpread(cluster: CitusCluster): Promise<Backend> {
  const name = `keyhold_test_${randomBytes(6).toString('hex')}`
  const url = await cluster.createDatabase(name)
  const database = openPostgres(url)
  await migrateBoth(database)
  await database.close()
  await cluster.coordinator.query(citusSql('distribute'), name)
  return backendOver({ url, drop: async () => undefined })
}

/** Why suites over a cluster do not run here. */
const missingForSuites = (): string | undefined =>
  isEverything
    ? (missingForCitus() ?? (redisServerInstalled ? undefined : 'redis-server is not installed'))
    : 'npm run test:all runs it'

/** Runs a suite over a cluster, or skips it by name. The suite may change the cluster. */
export function describeCitus(name: string, suite: (open: OpenBackend, cluster: () => CitusCluster) => void): void {
  const missing = missingForSuites()
  let cluster: CitusCluster | undefined
  const present = () => {
    if (!cluster) throw new TypeError('the cluster is not started')
    return cluster
  }
  if (missing !== undefined) {
    describe.skip(`${name} (Citus): ${missing}`, () => suite(() => openSpread(present()), present))
    return
  }
  describe(`${name} (Citus)`, () => {
    beforeAll(async () => {
      cluster = await startCitusCluster()
    })
    afterAll(() => cluster?.remove())
    suite(() => openSpread(present()), present)
  })
}

/** Runs a suite of servers over the embedded defaults, PostgreSQL and Citus. */
export function describeDealBackends(name: string, suite: (open: OpenBackend) => void): void {
  describeBackends(name, suite)
  describeCitus(name, suite)
}

/** Runs a suite of stores over the embedded engine, PostgreSQL and Citus. */
export function describeDealStores(name: string, suite: (open: OpenOwnDatabase) => void): void {
  describeDatabases(name, suite)
  describeCitus(name, suite)
}
