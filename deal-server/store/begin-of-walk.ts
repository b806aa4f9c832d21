/**
 * What the first page of a walk saw of the log of events: all up to the end of a slice, and of some buckets a
 * number of events beyond it. Events of a bucket are numbered without a gap, so this is exact. It names no transaction,
 * so it means the same in every copy of the database.
 */
import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { parameters } from '../../shared/platform/database/statement.ts'
import type { Place } from '../events/position.ts'
import { e } from './aliases.ts'
import { historiesColumn } from './event-statements.ts'
import { eventCounters, eventLog, eventSlices, events, slicedCounters } from './schema.ts'

const c = alias(eventCounters, 'c')
const s = alias(slicedCounters, 's')
const l = alias(eventSlices, 'l')

/** The log as the first page saw it. */
export interface BeginOfWalk extends Place {
  /** Buckets, and how many of their events were there beyond the place. */
  readonly beyond: readonly (readonly [bucket: number, count: number])[]
}

const lastPosition = sql`(select ${eventLog.lastPosition} from ${eventLog})`
const beyondSlices = sql`(select coalesce(json_agg(json_build_array(${c.bucket}, ${c.count} - ${s.upto})), '[]')
    from ${eventCounters} ${c} join ${slicedCounters} ${s} on ${s.bucket} = ${c.bucket} where ${c.count} > ${s.upto})`

/** SQL for a `BeginOfWalk`, in the statement that reads the first page. Only walks need what is beyond the slices. */
export const beginColumn = (isWalk: boolean): SQL =>
  sql`(select json_build_object('position', ${lastPosition}, 'beyond', ${isWalk ? beyondSlices : sql`'[]'::json`}))`

/** The text in a cursor: `57`, or `57:rs.1,a.2`. */
export const textOfBegin = ({ position, beyond }: BeginOfWalk): string =>
  beyond.length === 0 ? String(position) : `${position}:${beyond.map((pair) => pair.map(base36).join('.')).join(',')}`

const base36 = (value: number): string => value.toString(36)

const beginPattern = /^(\d+)(?::([0-9a-z.,]+))?$/

/** Reads `textOfBegin`; undefined for other text. */
export function beginOfText(text: string): BeginOfWalk | undefined {
  const [, position, pairs = ''] = beginPattern.exec(text) ?? []
  if (position === undefined) return undefined
  const beyond = pairs
    .split(',')
    .filter(Boolean)
    .map((pair): [number, number] => {
      const [bucket = '', count = ''] = pair.split('.')
      return [Number.parseInt(bucket, 36), Number.parseInt(count, 36)]
    })
  return { position: Number(position), beyond }
}

/**
 * Expressions of `with` that lead to `since`, the events of `deals.events` that the first page did not see. In each
 * bucket they are the last ones: behind those up to the place, and those beyond it.
 */
export const eventsSince = ({ position, beyond }: BeginOfWalk): SQL => sql`
  counted as materialized (select ${c.bucket}, ${c.count} from ${eventCounters} ${c} where ${c.count} > 0),
  ranges as materialized (
    select ${c.bucket}, coalesce(f.before, ${s.upto}) + coalesce(b.count, 0) as before
    from counted c join ${slicedCounters} ${s} on ${s.bucket} = ${c.bucket}
      left join (
        select ${l.bucket}, min(${l.upto} - ${l.total}) as before from ${eventSlices} ${l}
        where ${l.lastPosition} > ${String(position)}::text::bigint group by ${l.bucket}
      ) f on f.bucket = ${c.bucket}
      left join (
        select (p ->> 0)::smallint as bucket, (p ->> 1)::bigint as count
        from json_array_elements(${JSON.stringify(beyond)}::text::json) p
      ) b on b.bucket = ${c.bucket}
    where ${c.count} > coalesce(f.before, ${s.upto}) + coalesce(b.count, 0)
  ),
  since as (
    select e.* from ranges r cross join lateral (
      select distinct on (${e.bucket}, ${e.number}) e.* from ${events} ${e}
      where ${e.bucket} = r.bucket and ${e.number} > r.before order by ${e.bucket}, ${e.number}
    ) e
  )`

const seen = parameters({ position: 'bigint' })
/** Whether the log has come to the position, and in which histories its slices were made. */
export const hasPositionStatement = seen.statement(sql`
  select to_json(${eventLog.lastPosition} >= ${seen.position}) as "hasPosition", ${historiesColumn} from ${eventLog}`)
