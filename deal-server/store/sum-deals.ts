/**
 * Counts and sums of deals. They read all deals that match, so they have limits: a time, and few of them at once, so
 * that lists always find a session.
 */
import { and, type SQL, sql } from 'drizzle-orm'
import { Permits } from '../../shared/platform/concurrency/permits.ts'
import { type Database, TookTooLong } from '../../shared/platform/database/database.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { DealCount, DealFilter, DealGroup, DealSummary, DealSummaryRequest, GroupKey } from '../queries/ports.ts'
import { conditionsOf } from './deal-conditions.ts'
import { deals } from './schema.ts'

/** How long PostgreSQL may count or sum. */
const countLimitMs = 2000
const sumLimitMs = 4000
/** How many counts and sums run at once in one process, and how long another one waits. */
const runningAtOnce = 2
const longestWaitMs = 500
/** More groups than this help no reader. */
const maxGroups = 1000

/** Makes the counts and sums, one for each process. */
export function createDealSums(database: Pick<Database, 'readWithin'>) {
  const permits = new Permits(runningAtOnce)
  const limited = <Row extends object>(statement: SQL, timeoutMs: number): Promise<Row[]> =>
    permits.run(() => database.readWithin<Row>(statement, timeoutMs), {
      timeoutMs: longestWaitMs,
      onTimeout: () => new TookTooLong('database', { cause: new Error('other counts and sums are running') }),
    })
  const estimate = async (filter: DealFilter): Promise<DealCount> => {
    const [row] = await database.readWithin<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
      sql`explain (format json) select 1 from ${deals} where ${and(...conditionsOf(filter))}`,
      countLimitMs,
    )
    return { count: row?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0, isExact: false }
  }
  return {
    /** See `DealReader.count`. */
    count: async (filter: DealFilter, isExact: boolean): Promise<DealCount> => {
      if (!isExact) return estimate(filter)
      try {
        const statement = sql`select count(*)::text as count from ${deals} where ${and(...conditionsOf(filter))}`
        const [row] = await limited<{ count: string }>(statement, countLimitMs)
        return { count: Number(row?.count), isExact: true }
      } catch (error) {
        if (error instanceof TookTooLong) return estimate(filter)
        throw error
      }
    },
    /** See `DealReader.summarize`. */
    summarize: async (request: DealSummaryRequest): Promise<DealSummary> => {
      try {
        return summaryOf(await limited<GroupRow>(groupsOf(request), sumLimitMs))
      } catch (error) {
        if (error instanceof TookTooLong) throw tooSlow(error)
        throw error
      }
    },
  }
}

interface GroupRow {
  readonly group: DealGroup
  /** The number of deals in all groups, also in those beyond the limit. */
  readonly total: string
}

/** Names of one user in several spellings are one group. */
const groupColumns: Readonly<Record<GroupKey, { readonly value: SQL; readonly shown: SQL }>> = {
  status: { value: sql`${deals.status}`, shown: sql`${deals.status}` },
  held: { value: sql`${deals.held}`, shown: sql`${deals.held}` },
  ownerId: { value: sql`lower(${deals.ownerId} collate "C")`, shown: sql`min(${deals.ownerId} collate "C")` },
}

/** Amounts of different currencies have no sum: the currency is always part of a group. */
function groupsOf({ filter, by }: DealSummaryRequest): SQL {
  const keys = [...by.map((key) => groupColumns[key].value), sql`${deals.currency}`]
  const grouped = sql.join(keys, sql`, `)
  const shown = by.map((key) => sql`${sql.raw(`'${key}'`)}, ${groupColumns[key].shown}, `)
  return sql`select json_build_object(${sql.join(shown, sql``)} 'currency', ${deals.currency},
      'count', count(*), 'value', sum(${deals.price})::text) as group,
    (sum(count(*)) over ())::text as total
    from ${deals} where ${and(...conditionsOf(filter))}
    group by ${grouped} order by count(*) desc, ${grouped} limit ${sql.raw(String(maxGroups))}`
}

function summaryOf(rows: readonly GroupRow[]): DealSummary {
  const totalCount = Number(rows[0]?.total ?? 0)
  const groups = rows.map(({ group }) => group)
  return { groups, totalCount, otherCount: totalCount - groups.reduce((sum, { count }) => sum + count, 0) }
}

function tooSlow(cause: TookTooLong): ProblemError {
  const message = 'Too many deals match to be summed up in time: filter them, or try again later.'
  return new ProblemError('query-too-slow', message, { retryAfterSeconds: 5, cause })
}
