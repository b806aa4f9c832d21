/**
 * The store of deals over several shards. A deal, its tasks, events and commands are on one shard, so one commit is one
 * transaction there, and a read of a deal asks one shard. Lists, counts and sums ask all and merge.
 */
import type { CommandKey, Loaded } from '../../commands/ports.ts'
import type { Deal } from '../../domain/deal.ts'
import type { DealReader, DealSort, DealSortKey } from '../../queries/ports.ts'
import { createDealRepository, type DealDatabase, type DealStore } from '../deals.ts'
import { createDealSums, sumPermits } from '../sum-deals.ts'
import { type KeyPart, type ListOrder, mergePages } from './merge-pages.ts'
import { addCounts, addSummaries, groupsOfShard } from './merge-sums.ts'
import { createReservations, type Reservations } from './reservations.ts'
import { shardOfDeal, shardOfPrincipal } from './shard-of.ts'

interface Shard {
  readonly store: DealStore
  readonly reservations: Reservations
}

const nothing: Loaded = { deal: undefined, command: undefined, purged: false }

/** Makes the store over the databases of the shards, in their order. `onCommit` is called with the shard. */
export function createShardedStore(
  databases: readonly DealDatabase[],
  onCommit: (shard: number) => void = () => undefined,
): DealStore {
  const shards = databases.map((database, shard): Shard => {
    const sums = createDealSums(database, sumPermits(), groupsOfShard)
    const store = createDealRepository(database, () => onCommit(shard), sums)
    return { store, reservations: createReservations(database) }
  })
  const storeOf = (dealId: string): DealStore => required(shards[shardOfDeal(dealId, shards.length)]).store
  const reservationsOf = ({ principalId }: CommandKey): Reservations =>
    required(shards[shardOfPrincipal(principalId, shards.length)]).reservations
  return {
    ...readsOver(shards, storeOf),
    load: async (dealId, key, options) => {
      const reading = dealId === undefined ? nothing : storeOf(dealId).load(dealId, key, options)
      if (key === undefined) return reading
      const [loaded, reservation] = await Promise.all([reading, reservationsOf(key).find(key)])
      if (loaded.command || !reservation) return loaded
      const isElsewhere = reservation.dealId !== dealId
      const command = isElsewhere ? (await storeOf(reservation.dealId).load(undefined, key)).command : undefined
      return { ...loaded, command, ...(command === undefined && { reservation }) }
    },
    commit: async (commit) => {
      const { command, deal } = commit
      if (command && !(await reservationsOf(command.key).take(command))) return 'command-taken'
      return storeOf(deal.id).commit(commit)
    },
    keepCommand: async (command) => {
      if (!(await reservationsOf(command.key).take(command))) return 'command-taken'
      return storeOf(command.dealId).keepCommand(command)
    },
  }
}

const readsOver = (shards: readonly Shard[], storeOf: (dealId: string) => DealStore): Omit<DealReader, 'load'> => ({
  loadText: (dealId) => storeOf(dealId).loadText(dealId),
  listCommands: (dealId, page) => storeOf(dealId).listCommands(dealId, page),
  history: (dealId, page) => storeOf(dealId).history(dealId, page),
  list: (list) => {
    const reads = shards.map(
      ({ store }) =>
        (page: typeof list.page) =>
          store.list({ ...list, page }),
    )
    return mergePages<Deal>(reads, list.page, orderOfDeals(list.sort))
  },
  assignedTasks: (assignee, page) => {
    const reads = shards.map(
      ({ store }) =>
        (part: typeof page) =>
          store.assignedTasks(assignee, part),
    )
    return mergePages(reads, page, orderOfTasks)
  },
  count: async (...given) => addCounts(await Promise.all(shards.map(({ store }) => store.count(...given)))),
  summarize: async (request) => addSummaries(await Promise.all(shards.map(({ store }) => store.summarize(request)))),
})

const typesOfKeys: Readonly<Record<DealSortKey, KeyPart['type']>> = {
  createdAt: 'time',
  updatedAt: 'time',
  name: 'text',
  price: 'number',
  completionDate: 'text',
  status: 'text',
  ownerId: 'text',
}

const orderOfDeals = ({ by, descending }: DealSort): ListOrder => [
  { type: typesOfKeys[by], descending },
  { type: 'text', descending },
]

/** Date, task, deal. */
const orderOfTasks: ListOrder = Array.from({ length: 3 }, () => ({ type: 'text', descending: false }))

function required(shard: Shard | undefined): Shard {
  if (shard === undefined) throw new TypeError('a store has a shard at least')
  return shard
}
