/** The stores of deals that a suite runs over: what callers see must not depend on the number of shards. */
import { describe } from 'vitest'
import { createDealRepository, type DealStore } from '../../../deal-server/store/deals.ts'
import { createShardedStore } from '../../../deal-server/store/shards/sharded-store.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import { describeBackends, type OpenBackend } from '../../support/stores/backends.ts'
import { migrateBoth } from '../../support/stores/migrate-both.ts'

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

/** Runs a suite over every store. */
export function describeStores(name: string, suite: (open: OpenStore) => void): void {
  describeBackends(name, (openBackend) => {
    describe('one database', () => suite(() => openOver(openBackend, 1)))
    describe('two shards', () => suite(() => openOver(openBackend, 2)))
  })
}
