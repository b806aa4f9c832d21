/** What a deal server has otherwise when its deals are on several shards (docs/sharding.md). */
import type { Database } from '../shared/platform/database/database.ts'
import type { HousekeepingJob } from '../shared/platform/database/housekeeping.ts'
import type { Dependency } from '../shared/platform/http/server/health.ts'
import { ProblemError } from '../shared/platform/problems/errors.ts'
import type { EventStreams } from './events/event-streams.ts'
import { createDealRepository, type DealStore } from './store/deals.ts'
import { dealHousekeepingJobs, dealJobs, otherJobs } from './store/housekeeping.ts'
import { shardDatabases } from './store/shards/shard-database.ts'
import { createShardedStore } from './store/shards/sharded-store.ts'
import type { WebhookManagement } from './webhooks/manage.ts'

/** The parts of a server that know of shards. */
export interface Shards {
  openStore(onCommit: () => void): DealStore
  readonly housekeepingJobs: readonly HousekeepingJob[]
  /** For readiness. */
  readonly dependencies: readonly Dependency[]
  /** Refuses what only one database can do. */
  limitStreams(events: EventStreams): EventStreams
  limitWebhooks(management: WebhookManagement): WebhookManagement
}

/** Opens the shards behind a database; with one, the database itself has the deals. */
export const openShards = (database: Database, shards: number): Shards =>
  shards === 1 ? oneDatabase(database) : severalShards(database, shards)

const oneDatabase = (database: Database): Shards => ({
  openStore: (onCommit) => createDealRepository(database, onCommit),
  housekeepingJobs: dealHousekeepingJobs,
  dependencies: [],
  limitStreams: (events) => events,
  limitWebhooks: (management) => management,
})

function severalShards(database: Database, count: number): Shards {
  const shards = shardDatabases(database, count)
  const jobs = shards.flatMap(({ writes }, shard) =>
    dealJobs.map(({ name, removeBatch }) => ({
      name: `${name} on shard ${shard}`,
      removeBatch: (_: unknown, ...bounds: [Parameters<typeof removeBatch>[1]]) => removeBatch(writes, ...bounds),
    })),
  )
  const check = async ({ query }: (typeof shards)[number]) => void (await query('select 1 as one'))
  return {
    openStore: (onCommit) => createShardedStore(shards, onCommit),
    housekeepingJobs: [...jobs, ...otherJobs],
    dependencies: shards.map((shard, number) => ({
      name: `shard-${number}`,
      required: false,
      check: () => check(shard),
    })),
    limitStreams: (events) => ({
      wakeUp: () => events.wakeUp(),
      health: () => events.health(),
      check: async () => undefined,
      acquire: events.acquire,
      open: () => refuse('live events'),
      canBegin: () => refuse('live events'),
    }),
    limitWebhooks: (management) => ({ ...management, create: () => refuse('webhooks') }),
  }
}

const refuse = async (what: string): Promise<never> => {
  throw new ProblemError('not-found', `The deals of this server are on several shards: it has no ${what}.`)
}
