/** The stores of deals that a suite runs over: what callers see must not depend on the number of shards. */
import { describe } from 'vitest'
import { createDealRepository, type DealStore } from '../../../deal-server/store/deals.ts'
import { shardDatabases } from '../../../deal-server/store/shards/shard-database.ts'
import { createShardedStore } from '../../../deal-server/store/shards/sharded-store.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { describeBackends, type OpenBackend } from '../../support/stores/backends.ts'
import { citusUrl, createCitus } from '../../support/stores/citus.ts'
import { migrateBoth } from '../../support/stores/migrate-both.ts'
import { createProxied, hasPlproxy, type Proxied } from '../../support/stores/plproxy.ts'

/** A store, and the databases where its deals are: to look into. */
export interface OpenedStore {
  /** Opens the store once more, as another server does. */
  open(): DealStore
  /** The databases of the shards in their order; one without shards. */
  readonly databases: readonly Database[]
  close(): Promise<void>
}

export type OpenStore = () => Promise<OpenedStore>

/** One database, or two that are shards and are asked directly. */
async function openOver(openBackend: OpenBackend, shards: number): Promise<OpenedStore> {
  const backends = await Promise.all(Array.from({ length: shards }, openBackend))
  const databases = backends.map((backend) => backend.openDatabase())
  for (const database of databases) await migrateBoth(database)
  const [only] = databases
  return {
    open: () => (shards === 1 && only ? createDealRepository(only) : createShardedStore(databases)),
    databases,
    close: async () => {
      for (const database of databases) await database.close()
      for (const backend of backends) await backend.close()
    },
  }
}

/** Two shards behind PL/Proxy, or behind a coordinator of Citus. */
async function openBehind(create: () => Promise<Proxied>): Promise<OpenedStore> {
  const proxied = await create()
  const leading = openPostgres(proxied.url)
  const databases = proxied.shards.map(({ url }) => openPostgres(url))
  return {
    open: () => createShardedStore(shardDatabases(leading, databases.length)),
    databases,
    close: async () => {
      for (const database of [leading, ...databases]) await database.close()
      await proxied.drop()
    },
  }
}

const { TEST_DATABASE_URL: serverUrl = '' } = process.env
const isProxied = await hasPlproxy(process.env.TEST_DATABASE_URL)

/** Runs a suite over every store. */
export function describeStores(name: string, suite: (open: OpenStore) => void): void {
  describeBackends(name, (openBackend) => {
    describe('one database', () => suite(() => openOver(openBackend, 1)))
    describe('two shards', () => suite(() => openOver(openBackend, 2)))
  })
  describe.skipIf(!isProxied)(`${name} (PL/Proxy)`, () => suite(() => openBehind(() => createProxied(serverUrl))))
  describe.skipIf(!citusUrl)(`${name} (Citus)`, () => suite(() => openBehind(() => createCitus(citusUrl ?? ''))))
}
