import type { DealList, DealSort } from '../deal-server/queries/ports.ts'
import { type Bench, cyclesFor, httpTurn } from './bench.ts'
import type { Comparison, Subject } from './compare.ts'
import { type ListDatabase, type ListDatabases, userName } from './list-databases.ts'
import type { ReadList } from './recorded-list.ts'
import { request } from './requests.ts'

const limit = 50

/** A list as clients ask for it, and the same as the repository is asked for it, for its plan. */
interface MeasuredList {
  readonly title: string
  /** `n` makes requests differ where there is something to differ in. */
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
    title: "an owner's deals by completion date",
    path: (n) => `/rest/v1/deals?ownerId=${userName(n)}&sort=completionDate`,
    read: firstPage({ ownerId: userName(7) }, { by: 'completionDate', descending: false }),
  },
  'lists-tasks': {
    title: "an employee's open tasks",
    path: (n) => `/query/AssignedTask/${userName(n)}`,
    read: (repository) =>
      repository.assignedTasks({ username: userName(7), userId: undefined }, { limit, after: undefined }),
  },
}

/**
 * Each list over HTTP, where the caller is given, in the big database against the small one. Databases are opened when
 * the first is measured.
 */
export function listComparisons(
  open: () => Promise<ListDatabases>,
): Record<string, (bench: Bench) => Promise<Comparison>> {
  const comparisons = Object.entries(lists).map(
    ([name, list]) => [name, async (bench: Bench) => compareSizes(bench, list, await open())] as const,
  )
  return Object.fromEntries(comparisons)
}

async function compareSizes(bench: Bench, list: MeasuredList, { small, big }: ListDatabases): Promise<Comparison> {
  const [inSmall, inBig] = [await measure(bench, list, small), await measure(bench, list, big)]
  const notes = await Promise.all([small, big].map(async (database) => planOf(database, list)))
  return {
    title: `GET of ${list.title}, ${limit} at a time`,
    unit: 'answers',
    floor: inSmall.subject,
    subjects: [inBig.subject],
    notes,
    close: () => Promise.all([inSmall.close(), inBig.close()]),
  }
}

async function measure(
  bench: Bench,
  { path }: MeasuredList,
  { deals, users, repository }: ListDatabase,
): Promise<{ subject: Subject; close(): Promise<unknown> }> {
  const { port, close } = await bench.servers.listenWithFixedCaller(repository)
  const requestsOf = (client: number) =>
    Array.from({ length: 10 }, (_, index) =>
      request(`GET ${path((client * 10 + index) % users)}`, { token: undefined }),
    )
  const cycles = cyclesFor(bench.clients, port, requestsOf)
  const subject: Subject = {
    name: `${deals.toLocaleString('en')} deals`,
    turn: (seconds) => httpTurn(bench, { cycles, expected: '200' }, seconds),
  }
  return { subject, close }
}

const planOf = async ({ deals, plan }: ListDatabase, { read }: MeasuredList): Promise<string> =>
  `  plan for ${deals.toLocaleString('en')} deals\n${(await plan(read)).replace(/^/gm, '    ')}`
