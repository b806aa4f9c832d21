import type { DealList, DealSort } from '../../../deal-server/queries/ports.ts'
import type { Comparison, Subject } from '../../runner/compare.ts'
import { type Bench, overHttp } from '../../servers/bench.ts'
import type { Running } from '../../servers/processes.ts'
import { request } from '../../servers/requests.ts'
import { type ListDatabase, openListDatabases, userName } from './list-databases.ts'
import type { ReadList } from './recorded-list.ts'

const limit = 50

/** A list as clients ask for it, and the same read of the repository, for its plan. */
interface MeasuredList {
  readonly title: string
  /** The path for user `n`, where the list is of a user. */
  path(n: number): string
  readonly read: ReadList
}

const newestFirst: DealSort = { by: 'createdAt', descending: true }
const firstPage = (filter: DealList['filter'], sort: DealSort): ReadList => {
  const page = { limit, after: undefined }
  return (repository) => repository.list({ filter, sort, page })
}

const lists: Readonly<Record<string, MeasuredList>> = {
  'lists-newest': {
    title: 'the default list',
    path: () => '/rest/v1/deals',
    read: firstPage({}, newestFirst),
  },
  'lists-status': {
    title: 'open deals, newest first',
    path: () => '/rest/v1/deals?status=open',
    read: firstPage({ status: 'open' }, newestFirst),
  },
  'lists-owner': {
    title: 'the deals of an owner by completion date',
    path: (n) => `/rest/v1/deals?ownerId=${userName(n)}&sort=completionDate`,
    read: firstPage({ ownerId: userName(7) }, { by: 'completionDate', descending: false }),
  },
  'lists-search': {
    title: 'deals with a rare text',
    path: () => '/rest/v1/deals?q=harbour',
    read: firstPage({ q: 'harbour' }, newestFirst),
  },
  'lists-search-frequent': {
    title: 'deals with a frequent text',
    path: () => '/rest/v1/deals?q=delivery',
    read: firstPage({ q: 'delivery' }, newestFirst),
  },
  'lists-tasks': {
    title: 'the open tasks of a user',
    path: (n) => `/query/AssignedTask/${userName(n)}`,
    read: (repository) =>
      repository.assignedTasks({ username: userName(7), userId: undefined }, { limit, after: undefined }),
  },
}

/** Names of comparisons, one for each list. */
export const listNames = Object.keys(lists)

/** Compares a list in the large database with the same list in the small one. */
export async function compareList(bench: Bench, name: string): Promise<Comparison> {
  const list = lists[name]
  if (!list) throw new TypeError(`There is no list ${name}.`)
  const [small, big] = await openListServers(bench)
  return {
    title: `GET of ${list.title}, ${limit} in a response`,
    unit: 'responses',
    floors: [measure(bench, list, small)],
    subjects: [measure(bench, list, big)],
    notes: await Promise.all([small, big].map(({ database }) => planOf(database, list))),
  }
}

/** A database with a deal server on it. */
export interface ListServer {
  readonly database: ListDatabase
  readonly server: Running
}

/** Both are opened once, for all lists. */
let opened: Promise<readonly [ListServer, ListServer]> | undefined

/** The servers on both databases, the small one first. */
export const openListServers = (bench: Bench): Promise<readonly [ListServer, ListServer]> => {
  opened ??= openServers(bench)
  return opened
}

async function openServers({ settings, keyhold, closeAtEnd }: Bench) {
  const { small, big, close } = await openListDatabases(settings)
  closeAtEnd(close)
  const start = async (database: ListDatabase): Promise<ListServer> => {
    const server = await keyhold.startDealServer({ databaseUrl: database.url })
    closeAtEnd(server.stop)
    return { database, server }
  }
  return [await start(small), await start(big)] as const
}

function measure(bench: Bench, list: MeasuredList, { server, database: { deals, users } }: ListServer): Subject {
  const { tokenOf } = bench.keyhold
  const requestsOf = (caller: number) => {
    const get = (n: number) => request(`GET ${list.path(n % users)}`, { token: tokenOf(caller) })
    return Array.from({ length: 10 }, (_, index) => get(caller * 10 + index))
  }
  return overHttp(bench, { name: `${list.title}, ${deals.toLocaleString('en')} deals`, server, requestsOf })
}

const planOf = async ({ deals, plan }: ListDatabase, { read }: MeasuredList): Promise<string> =>
  `Plan for ${deals.toLocaleString('en')} deals:\n\n${(await plan(read)).replace(/^/gm, '    ')}\n`
