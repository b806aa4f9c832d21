/**
 * Deals whose rows are not what their events say. A commit writes both or neither; a cluster of Citus, or copies of
 * several moments, may have kept the events alone. The events are the history: the row is made from them again.
 */
import { sql } from 'drizzle-orm'
import type { Database } from '../../shared/platform/database/database.ts'
import { type JsonRow, parameters } from '../../shared/platform/database/statement.ts'
import type { Deal } from '../domain/deal.ts'
import { d, e } from '../store/aliases.ts'
import { bucketOf } from '../store/events/bucket.ts'
import { changedColumns, type DealRow, rfc3339OfRow, rowsOfTasks } from '../store/rows.ts'
import { deals, events } from '../store/schema.ts'
import { aboutDeals, commitStatement, readDealsStatement } from '../store/statements.ts'
import { foldHistory, type PastEvent } from '../use-cases/apply-events.ts'

/** Some of the deals. */
export interface CheckedDeals {
  /** How many they are, those that are purged too. */
  readonly count: number
  /** The ids of those whose row and last event differ. */
  readonly torn: readonly string[]
}

type EventRow = JsonRow<typeof events>

/** How many events two statements look at. */
const windowSize = 20_000
const timeoutMs = 60_000

/** Compares all rows with the events, some thousand of these at a time, by ids. Locks nothing. @throws Unavailable */
export async function* checkDeals(
  database: Database,
  { signal, window = windowSize }: { readonly signal: AbortSignal; readonly window?: number },
): AsyncGenerator<CheckedDeals> {
  for (let after: string | undefined; ; ) {
    signal.throwIfAborted()
    const isBehind = after === undefined ? sql`true` : sql`${e.dealId} > ${after}::text::uuid`
    const [last] = await database.readWithin<{ id: string }>(
      sql`select ${e.dealId}::text as id from ${events} ${e} where ${isBehind}
        order by ${e.dealId} offset ${sql.raw(String(window))} limit 1`,
      timeoutMs,
    )
    const isBefore = last === undefined ? sql`true` : sql`${e.dealId} <= ${last.id}::text::uuid`
    // The last event of a purged deal is its deletion.
    const isPurged = sql`${d.id} is null and exists (select 1 from ${events} ${e} where ${e.dealId} = l.deal_id
      and ${e.bucket} = l.bucket and ${e.sequence} = l.sequence and ${e.type} = 'deal.deleted')`
    const [checked] = await database.readWithin<{ count: string; torn: string[] | null }>(
      sql`select count(*)::text as count,
          json_agg(l.deal_id) filter (where ${d.sequence} is distinct from l.sequence and not (${isPurged})) as torn
        from (
          select ${e.dealId}, ${e.bucket}, max(${e.sequence}) as sequence from ${events} ${e}
          where ${isBehind} and ${isBefore} group by ${e.dealId}, ${e.bucket}
        ) l left join ${deals} ${d} on ${d.id} = l.deal_id and ${d.bucket} = l.bucket`,
      timeoutMs,
    )
    yield { count: Number(checked?.count ?? 0), torn: (checked?.torn ?? []).sort() }
    if (last === undefined) return
    after = last.id
  }
}

const one = parameters({ dealId: 'uuid', bucket: 'smallint' })
const readEventsStatement = one.statement(sql`select to_json(${e}) as event from ${events} ${e}
  where ${e.dealId} = ${one.dealId} and ${e.bucket} = ${one.bucket} order by ${e.sequence}`)

/**
 * Writes the row of a deal and its tasks as the events say. False when the events are not ahead of the row, or are not
 * a whole history. Servers may run. @throws Unavailable
 */
export async function mendDeal(database: Database, id: string): Promise<boolean> {
  const bucket = bucketOf(id)
  const [[found], history] = await database.queryAll<[{ deal: DealRow }, { event: EventRow }]>([
    aboutDeals(readDealsStatement, [id]),
    readEventsStatement({ dealId: id, bucket }),
  ])
  const deal = historyOf(history.map(({ event }) => event))
  if (deal === undefined || deal.sequence <= (found?.deal.sequence ?? 0)) return false
  const changes = changedColumns(undefined, deal)
  const row = { bucket, id, expected_version: found?.deal.version ?? null, changes }
  const tasks = rowsOfTasks({ deal, tasks: deal.tasks, bucket })
  const commit = commitStatement({
    bucket,
    deals: JSON.stringify([row]),
    events: '[]',
    commands: '[]',
    tasks: JSON.stringify(tasks),
  })
  return (await database.write(...commit)).length === 1
}

/** The deal of these events; undefined when some are missing, or are of a later release. */
function historyOf(rows: readonly EventRow[]): Deal | undefined {
  if (rows.some(({ sequence }, index) => sequence !== index + 1)) return undefined
  const past = rows.map(
    ({ deal_version: dealVersion, occurred_at: at, ...event }): PastEvent => ({
      ...event,
      dealVersion,
      occurredAt: rfc3339OfRow(at),
    }),
  )
  try {
    return foldHistory(past)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}
