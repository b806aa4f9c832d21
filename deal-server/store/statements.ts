/** The hot statements. Each is prepared once and runs for a whole batch, whose data is JSON text. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Statement } from '../../shared/platform/database/database.ts'
import { textOf } from '../../shared/platform/database/statement.ts'
import { c, d, e, t } from './aliases.ts'
import { bucketOf } from './events/bucket.ts'
import { commands, deals, events, tasks } from './schema.ts'

/**
 * Two forms of a statement over deals, `$1`: text of a uuid array. A statement for one deal has its bucket, `$2`: a
 * database that spreads buckets then asks one of its parts.
 */
export interface StatementOfDeals {
  readonly one: string
  readonly many: string
}

/** Conditions of the chosen deals, and of rows in the same bucket as theirs. */
interface Chosen {
  deals(id: SQLWrapper, bucket: SQLWrapper): SQL
  bucket(bucket: SQLWrapper, ofDeal: SQLWrapper): SQL
}

/** Both forms. That for one deal names the bucket of each table by its parameter. */
export const ofDeals = (statement: (chosen: Chosen) => SQL): StatementOfDeals => ({
  one: textOf(
    statement({
      deals: (id, bucket) => sql`${id} = any($1::text::uuid[]) and ${bucket} = $2::text::smallint`,
      bucket: (bucket) => sql`${bucket} = $2::text::smallint`,
    }),
  ),
  many: textOf(
    statement({
      deals: (id) => sql`${id} = any($1::text::uuid[])`,
      bucket: (bucket, ofDeal) => sql`${bucket} = ${ofDeal}`,
    }),
  ),
})

/** The form for these deals, and its parameters. */
export const aboutDeals = ({ one, many }: StatementOfDeals, ids: readonly string[]): Statement => {
  const [id, another] = ids
  const array = `{${ids.join(',')}}`
  return id !== undefined && another === undefined ? [one, [array, bucketOf(id)]] : [many, [array]]
}

/** The rows of a deal's tasks in their order. A deal without tasks skips the table. */
const tasksOfDeal = (chosen: Chosen) => sql`case when ${d.taskCount} > 0 then
    (select json_agg(t order by ${t.ordinal}) from ${tasks} ${t}
      where ${t.dealId} = ${d.id} and ${chosen.bucket(t.bucket, d.bucket)}) end`

export const readDealsStatement = ofDeals(
  (chosen) => sql`
  select to_json(d) as deal, ${tasksOfDeal(chosen)} as tasks from ${deals} ${d}
  where ${chosen.deals(d.id, d.bucket)}`,
)

/** The ids that occur in events. */
export const readIdsOfEventsStatement = ofDeals(
  (chosen) => sql`
  select to_json(${e.dealId}) as id from ${events} ${e} where ${chosen.deals(e.dealId, e.bucket)} group by ${e.dealId}`,
)

/**
 * `one`: `$1`, `$2`, `$3`: principal, command id and bucket; `many`: `$1`: `[{principal_id, command_id, bucket}]`. The
 * `distinct` enforces a lookup by index: a plain join is planned as a scan while the table is small, and the prepared
 * plan stays when the table grows.
 */
export const readCommandsStatement = {
  one: textOf(sql`
  select to_json(c) as command from ${commands} ${c}
  where ${c.principalId} = $1::text and ${c.commandId} = $2::text and ${c.bucket} = $3::text::smallint`),
  many: textOf(sql`
  select c.command from json_to_recordset($1::text::json) as i(principal_id text, command_id text, bucket smallint)
  cross join lateral (
    select distinct on (${c.bucket}) ${c.bucket}, to_json(c) as command from ${commands} ${c}
    where ${c.principalId} = i.principal_id and ${c.commandId} = i.command_id and ${c.bucket} = i.bucket
  ) c`),
} as const

/**
 * `$1`: the bucket of one of the deals; `$2`: `[{bucket, id, expected_version, changes}]`, where `changes` has the
 * changed columns, or all columns of a new deal; `$3`, `$4`, `$5`: rows of events, commands and tasks. Returns the id
 * of each deal that was written. The function is in `functions/commit.sql`, and names the columns of its tables.
 */
export const commitStatement = 'select id from deals.commit($1::text::smallint, $2::text, $3::text, $4::text, $5::text)'

/**
 * What a commit that raised 23505 met, told by rows: names of constraints differ between the parts of a table. `$1`,
 * `$2`, `$3`: principal, command id and bucket, or nulls; `$4`, `$5`: the deal and its bucket; `$6`: whether it is
 * new; `$7`: its first event.
 */
export const conflictStatement = textOf(sql`
  select case
    when exists (
      select 1 from ${commands}
      where ${commands.principalId} = $1::text and ${commands.commandId} = $2::text
        and ${commands.bucket} = $3::text::smallint) then 'command-taken'
    when $6::text::boolean and exists (
      select 1 from ${deals} where ${deals.id} = $4::text::uuid and ${deals.bucket} = $5::text::smallint)
      then 'deal-exists'
    when exists (
      select 1 from ${events}
      where ${events.dealId} = $4::text::uuid and ${events.bucket} = $5::text::smallint
        and ${events.sequence} >= $7::text::int)
      then 'version-lost' end as conflict`)

/** `$1`: a command row. Returns a row unless the command id is taken. */
export const keepCommandStatement = textOf(sql`
  insert into ${commands} select * from json_populate_record(null::${commands}, $1::text::json)
  on conflict do nothing returning to_json(${commands.commandId}) as command_id`)
