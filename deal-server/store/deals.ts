/**
 * The repository of deals in PostgreSQL. Loads and commits of concurrent callers are gathered: one statement for each
 * batch. Knows no HTTP.
 */
import { type Database, isDuplicate, type Statement } from '../../shared/platform/database/database.ts'
import { gatherStatements } from '../../shared/platform/database/gather-statements.ts'
import { ignoreUnavailable } from '../../shared/platform/problems/errors.ts'
import type { CommandKey, CommitResult, DealRepository, Loaded } from '../commands/ports.ts'
import type { Deal } from '../domain/deal.ts'
import { uniqueFields } from '../domain/deal-fields.ts'
import type { DealReader, DealText } from '../queries/ports.ts'
import { readTexts } from './deal-text.ts'
import { sliceStatement } from './event-statements.ts'
import { bucketOf, bucketOfPrincipal } from './events/bucket.ts'
import { listDeals } from './list-deals.ts'
import { findProposal, listProposals, loadProposal, writeProposal } from './proposals.ts'
import { listAssignedTasks, listCommands, readHistory } from './reading.ts'
import {
  type CommandRow,
  commandOfRow,
  type DealRow,
  dealOfRow,
  type PlacedCommit,
  rowOfCommand,
  rowsOfCommits,
  type TaskRow,
} from './rows.ts'
import {
  aboutDeals,
  commitStatement,
  conflictStatement,
  keepCommandStatement,
  readCommandsStatement,
  readDealsStatement,
  readIdsOfEventsStatement,
} from './statements.ts'
import { createDealSums } from './sum-deals.ts'

/** The store of deals, for commands and queries. */
export interface DealStore extends DealRepository, DealReader {}

/**
 * Makes the repository, one for each process, so that all callers share its batches. `onCommit` is called after every
 * batch that wrote events.
 */
export function createDealRepository(database: Database, onCommit: () => void = () => undefined): DealStore {
  const readDeal = gatherStatements<string, Deal | undefined>({ run: (ids) => readDeals(database, ids) })
  const readText = gatherStatements<string, DealText | undefined>({ run: (ids) => readTexts(database, ids) })
  const loadOne = gatherStatements<LoadItem, Loaded>({ run: (items) => loadAll(database, items) })
  const commitOne = gatherStatements<PlacedCommit, CommitResult>({
    key: ({ deal }) => deal.id,
    lock: ({ bucket }) => bucket,
    run: async (commits) => {
      const results = await commitAll(database, commits)
      if (results.includes('committed')) onCommit()
      return results
    },
  })
  const slice = () => database.write(sliceStatement)
  const sums = createDealSums(database)
  return {
    list: (list) => listDeals(database, list, () => slice().catch(ignoreUnavailable)),
    count: sums.count,
    summarize: sums.summarize,
    listCommands: (...given) => listCommands(database, ...given),
    history: (...given) => readHistory(database, given, slice),
    assignedTasks: (...given) => listAssignedTasks(database, given),
    load: async (dealId, key, { forCreation } = { forCreation: false }) => {
      if (key !== undefined || forCreation) return loadOne({ dealId, key, forCreation })
      return { deal: dealId === undefined ? undefined : await readDeal(dealId), command: undefined, purged: false }
    },
    commit: (commit) => commitOne({ ...commit, bucket: bucketOf(commit.deal.id) }),
    keepCommand: async (command) => {
      const rows = await database.write(...keepCommandStatement({ command: rowOfCommand(command) }))
      return rows.length === 1 ? 'committed' : 'command-taken'
    },
    propose: async (...given) => {
      const result = await writeProposal(database, ...given)
      if (result === 'committed') onCommit()
      return result
    },
    findProposal: (key) => findProposal(database, key),
    listProposals: (request) => listProposals(database, request),
    loadProposal: (id) => loadProposal(database, id),
    loadText: (dealId) => readText(dealId),
  }
}

interface LoadItem {
  readonly dealId: string | undefined
  readonly key: CommandKey | undefined
  readonly forCreation: boolean
}

type StoredDeal = { readonly deal: DealRow; readonly tasks: TaskRow[] | null }

const byId = (rows: readonly StoredDeal[]): ReadonlyMap<string, Deal> =>
  new Map(rows.map(({ deal, tasks }) => [deal.id, dealOfRow(deal, tasks)]))

async function readDeals(reads: Database, ids: readonly string[]): Promise<(Deal | undefined)[]> {
  const found = byId(await reads.query<StoredDeal>(...aboutDeals(readDealsStatement, ids)))
  return ids.map((id) => found.get(id))
}

function aboutCommands(keys: readonly CommandKey[]): Statement {
  const placed = keys.map(({ principalId, commandId }) => ({
    principalId,
    commandId,
    bucket: bucketOfPrincipal(principalId),
  }))
  const [key, another] = placed
  const { one, many } = readCommandsStatement
  return key && !another ? one(key) : many({ keys: placed })
}

const textOf = ({ principalId, commandId }: CommandKey): string => `${principalId} ${commandId}`

/** Deals, ids of purged deals and commands are read by statements that leave together. */
async function loadAll(reads: Database, items: readonly LoadItem[]): Promise<Loaded[]> {
  const unique = (ids: readonly (string | undefined)[]) => [...new Set(ids.filter((id) => id !== undefined))]
  const ids = unique(items.map(({ dealId }) => dealId))
  const created = unique(items.map(({ dealId, forCreation }) => (forCreation ? dealId : undefined)))
  const keys = items.flatMap(({ key }) => key ?? [])
  const [deals, taken, commands] = await reads.queryAll<[StoredDeal, { id: string }, { command: CommandRow }]>([
    ids.length > 0 ? aboutDeals(readDealsStatement, ids) : undefined,
    created.length > 0 ? aboutDeals(readIdsOfEventsStatement, created) : undefined,
    keys.length > 0 ? aboutCommands(keys) : undefined,
  ])
  const dealsById = byId(deals)
  const takenIds = new Set(taken.map(({ id }) => id))
  const records = commands.map(({ command }) => commandOfRow(command))
  const commandsByKey = new Map(records.map((record) => [textOf(record.key), record]))
  return items.map(({ dealId, key, forCreation }) => {
    const deal = dealId === undefined ? undefined : dealsById.get(dealId)
    const isPurged = forCreation && deal === undefined && dealId !== undefined && takenIds.has(dealId)
    return { deal, command: key && commandsByKey.get(textOf(key)), purged: isPurged }
  })
}

async function commitAll(database: Database, commits: readonly PlacedCommit[]): Promise<CommitResult[]> {
  try {
    const commit = commitStatement(rowsOfCommits(commits))
    const rows = await database.write<{ id: string }>(...commit)
    const written = new Set(rows.map(({ id }) => id))
    return commits.map(({ deal }) => (written.has(deal.id) ? 'committed' : 'version-lost'))
  } catch (error) {
    const [commit, another] = commits
    const conflict = commit && !another && isDuplicate(error) ? await conflictOf(database, commit) : undefined
    if (conflict === undefined) throw error
    return [conflict]
  }
}

/** What a commit met that PostgreSQL refused as a duplicate; undefined when no row explains the refusal. */
async function conflictOf(database: Database, commit: PlacedCommit): Promise<CommitResult | undefined> {
  const { before, deal, bucket, events, command } = commit
  const look = conflictStatement({
    principalId: command?.key.principalId ?? null,
    commandId: command?.key.commandId ?? null,
    bucketOfCommand: command ? bucketOfPrincipal(command.key.principalId) : null,
    dealId: deal.id,
    bucket,
    isNew: before === undefined,
    firstSequence: events[0]?.sequence ?? null,
  })
  const [row] = await database.query<{ conflict: CommitResult | null }>(...look)
  return row?.conflict ?? (uniqueFields.length > 0 ? 'value-taken' : undefined)
}
