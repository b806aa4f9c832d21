/** What a deal server has otherwise when its deals are on several shards (docs/sharding.md). */
import type { Database } from '../shared/platform/database/database.ts'
import type { HousekeepingJob } from '../shared/platform/database/housekeeping.ts'
import type { Dependency } from '../shared/platform/http/server/health.ts'
import type { EventLog } from './events/event-log.ts'
import { createDealRepository, type DealStore } from './store/deals.ts'
import { createEventLog } from './store/event-log.ts'
import { dealHousekeepingJobs, dealJobs, otherJobs } from './store/housekeeping.ts'
import { shardDatabases } from './store/shards/shard-database.ts'
import { shardOfDeal } from './store/shards/shard-of.ts'
import { createShardedStore } from './store/shards/sharded-store.ts'
import { createShardedWebhookStore, createShardedWebhookWork } from './store/shards/sharded-webhooks.ts'
import { createWebhookWork } from './store/webhook-work.ts'
import { createWebhookStore } from './store/webhooks.ts'
import type { WebhookStore, WebhookWork } from './webhooks/ports.ts'

/** The parts of a server that know of shards. */
export interface Shards {
  /** `onCommit` gets the number of the shard, where there are several. */
  openStore(onCommit: (shard?: number) => void): DealStore
  /** The log of events of each shard. */
  readonly logs: readonly EventLog[]
  /** The number of the log that has the events of a deal. */
  logOf(dealId: string): number
  readonly webhookStore: WebhookStore
  readonly webhookWork: WebhookWork
  readonly housekeepingJobs: readonly HousekeepingJob[]
  /** For readiness. */
  readonly dependencies: readonly Dependency[]
}

/** Opens the shards behind a database; with one, the database itself has the deals. */
export const openShards = (database: Database, shards: number): Shards =>
  shards === 1 ? oneDatabase(database) : severalShards(database, shards)

const oneDatabase = (database: Database): Shards => ({
  openStore: (onCommit) => createDealRepository(database, () => onCommit()),
  logs: [createEventLog(database)],
  logOf: () => 0,
  webhookStore: createWebhookStore(database),
  webhookWork: createWebhookWork(database),
  housekeepingJobs: dealHousekeepingJobs,
  dependencies: [],
})

function severalShards(database: Database, count: number): Shards {
  const shards = shardDatabases(database, count)
  const shardOf = (dealId: string) => shardOfDeal(dealId, count)
  const withLogs = shards.map((shard) => ({ database: shard, log: createEventLog(shard) }))
  const jobs = shards.flatMap(({ writes }, shard) =>
    dealJobs.map(({ name, removeBatch }) => ({
      name: `${name} on shard ${shard}`,
      removeBatch: (_: unknown, ...bounds: [Parameters<typeof removeBatch>[1]]) => removeBatch(writes, ...bounds),
    })),
  )
  const check = async ({ query }: (typeof shards)[number]) => void (await query('select 1 as one'))
  return {
    openStore: (onCommit) => createShardedStore(shards, onCommit),
    logs: withLogs.map(({ log }) => log),
    logOf: shardOf,
    webhookStore: createShardedWebhookStore(database, { shards: withLogs, shardOf }),
    webhookWork: createShardedWebhookWork(database, { shards: withLogs, shardOf }),
    housekeepingJobs: [...jobs, ...otherJobs],
    dependencies: shards.map((shard, number) => ({
      name: `shard-${number}`,
      required: false,
      check: () => check(shard),
    })),
  }
}
