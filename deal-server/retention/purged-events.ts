/**
 * Housekeeping of the events of purged deals. The last event of a deal stays: it keeps the id of the deal taken, and
 * the end of the log in its place. Deals that exist keep all their events: they are the history.
 */

import { and, eq, lt, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { rfc3339 } from '../../shared/platform/clock.ts'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import type { HousekeepingJob } from '../../shared/platform/database/housekeeping.ts'
import { b, d, e, w } from '../store/aliases.ts'
import { positionOfEvent } from '../store/event-statements.ts'
import { deals, eventLog, events, webhookBlocked, webhooks } from '../store/schema.ts'

interface PurgedEventsOptions {
  /** Days after the deletion of its deal that an event is kept. */
  readonly keptDays: number
  /** Events that one batch looks at; 100,000 when left out. */
  readonly window?: number
}

/** The last event of a purged deal that has others. */
interface EndOfDeal {
  readonly dealId: string
  readonly bucket: number
  readonly sequence: number
}

const dayMs = 86_400_000

/**
 * Deletes the events of purged deals but the last of each, some days after the deletion. A batch looks at the next
 * deals by their ids, and after the last one begins again. What a webhook has not had yet stays, and so do all events
 * of a deal with one that waits for a webhook.
 */
export function createPurgedEventsJob({ keptDays, window = 100_000 }: PurgedEventsOptions): HousekeepingJob {
  let after: string | undefined
  return {
    name: 'events of purged deals',
    removeBatch: async (drizzle, { now, limit }) => {
      const isBehind = after === undefined ? sql`true` : sql`${e.dealId} > ${after}::uuid`
      const [last] = await drizzle
        .select({ id: e.dealId })
        .from(e)
        .where(isBehind)
        .orderBy(e.dealId)
        .offset(window)
        .limit(1)
      const isBefore = last === undefined ? sql`true` : sql`${e.dealId} <= ${last.id}::uuid`
      const deletedBy = rfc3339(Date.parse(now) - keptDays * dayMs)
      const ends = await findEnds(drizzle, { isInWindow: sql`${isBehind} and ${isBefore}`, deletedBy, limit })
      let count = 0
      for (const end of ends) count += await removeBefore(drizzle, end)
      after = ends.length === limit ? ends.at(-1)?.dealId : last?.id
      return count
    },
  }
}

interface Ended {
  /** Of an event `e`. */
  readonly isInWindow: SQL
  /** RFC 3339. */
  readonly deletedBy: string
  readonly limit: number
}

const l = alias(events, 'l')

/** The position up to which every webhook has had every event, but for those that wait in `webhook_blocked`. */
const hadByAll = sql`coalesce((select min(${w.position}) from ${webhooks} ${w}),
  (select ${eventLog.lastPosition} from ${eventLog}))`

function findEnds(drizzle: Drizzle, { isInWindow, deletedBy, limit }: Ended): Promise<EndOfDeal[]> {
  // Grouped first: an index alone says which deals the window has. A deal that lost its row has another last event.
  const found = sql`(
    with ended as materialized (
      select e.* from (
        select ${e.dealId}, ${e.bucket}, max(${e.sequence}) as sequence from ${events} ${e}
        where ${isInWindow} group by ${e.dealId}, ${e.bucket} having count(*) > 1
      ) l join ${events} ${e} on ${e.dealId} = ${l.dealId} and ${e.bucket} = ${l.bucket}
        and ${e.sequence} = ${l.sequence}
      left join ${deals} ${d} on ${d.id} = ${l.dealId} and ${d.bucket} = ${l.bucket}
      where ${d.id} is null and ${e.type} = 'deal.deleted' and ${e.occurredAt} <= ${deletedBy}::timestamptz
    )
    select * from ended e where ${positionOfEvent} <= ${hadByAll}
      and not exists (select 1 from ${webhookBlocked} ${b} where ${b.dealId} = ${e.dealId})
    order by ${e.dealId} limit ${limit}) e`
  const columns = {
    dealId: sql<string>`${e.dealId}`,
    bucket: sql<number>`${e.bucket}`,
    sequence: sql<number>`${e.sequence}`,
  }
  return drizzle.select(columns).from(found)
}

/** Each statement has the rows of one bucket. */
async function removeBefore(drizzle: Drizzle, { dealId, bucket, sequence }: EndOfDeal): Promise<number> {
  const isBefore = and(eq(events.dealId, dealId), eq(events.bucket, bucket), lt(events.sequence, sequence))
  return (await drizzle.delete(events).where(isBefore).returning({ one: sql<number>`1` })).length
}
