/** The hot statements. Each is prepared once and runs for a whole batch, whose data is JSON text. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Statement } from '../../shared/platform/database/database.ts'
import { parameters } from '../../shared/platform/database/statement.ts'
import { c, d, e, t } from './aliases.ts'
import { bucketOf } from './events/bucket.ts'
import { commands, deals, events, tasks } from './schema.ts'

const one = parameters({ ids: 'uuid[]', bucket: 'smallint' })
const many = parameters({ ids: 'uuid[]' })

/** Conditions of the chosen deals, and of rows in the same bucket as theirs. */
interface Chosen {
  deals(id: SQLWrapper, bucket: SQLWrapper): SQL
  bucket(bucket: SQLWrapper, ofDeal: SQLWrapper): SQL
}

/**
 * Two forms of a statement over deals. That for one deal names the bucket of each table by its parameter: a database
 * that spreads buckets then asks one of its parts.
 */
export const ofDeals = (statement: (chosen: Chosen) => SQL) => ({
  one: one.statement(
    statement({
      deals: (id, bucket) => sql`${id} = any(${one.ids}) and ${bucket} = ${one.bucket}`,
      bucket: (bucket) => sql`${bucket} = ${one.bucket}`,
    }),
  ),
  many: many.statement(
    statement({
      deals: (id) => sql`${id} = any(${many.ids})`,
      bucket: (bucket, ofDeal) => sql`${bucket} = ${ofDeal}`,
    }),
  ),
})

/** The form for these deals, with its parameters. */
export const aboutDeals = (statement: ReturnType<typeof ofDeals>, ids: readonly string[]): Statement => {
  const [id, another] = ids
  return id !== undefined && another === undefined
    ? statement.one({ ids, bucket: bucketOf(id) })
    : statement.many({ ids })
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

const command = parameters({ principalId: 'text', commandId: 'text', bucket: 'smallint' })
const several = parameters({ keys: 'json' })
/**
 * `keys`: `[{principalId, commandId, bucket}]`. The `distinct` enforces a lookup by index: a plain join is planned as
 * a scan while the table is small, and the prepared plan stays when the table grows.
 */
export const readCommandsStatement = {
  one: command.statement(sql`
  select to_json(c) as command from ${commands} ${c}
  where ${c.principalId} = ${command.principalId} and ${c.commandId} = ${command.commandId}
    and ${c.bucket} = ${command.bucket}`),
  many: several.statement(sql`
  select c.command from json_to_recordset(${several.keys}) as i("principalId" text, "commandId" text, bucket smallint)
  cross join lateral (
    select distinct on (${c.bucket}) ${c.bucket}, to_json(c) as command from ${commands} ${c}
    where ${c.principalId} = i."principalId" and ${c.commandId} = i."commandId" and ${c.bucket} = i.bucket
  ) c`),
} as const

const rows = parameters({ bucket: 'smallint', deals: 'text', events: 'text', commands: 'text', tasks: 'text' })
/**
 * `bucket`: that of one of the deals; `deals`: `[{bucket, id, expected_version, changes}]`, where `changes` has the
 * changed columns, or all columns of a new deal. Returns the id of each deal that was written. The function is in
 * `functions/commit.sql`, and names the columns of its tables.
 */
export const commitStatement = rows.statement(sql`
  select id from deals.commit(${rows.bucket}, ${rows.deals}, ${rows.events}, ${rows.commands}, ${rows.tasks})`)

const refused = parameters({
  principalId: 'text | null',
  commandId: 'text | null',
  bucketOfCommand: 'smallint | null',
  dealId: 'uuid',
  bucket: 'smallint',
  isNew: 'boolean',
  firstSequence: 'int | null',
})
/**
 * What a commit that raised 23505 met, told by rows: names of constraints differ between the parts of a table. Without
 * a command, its parameters are null.
 */
export const conflictStatement = refused.statement(sql`
  select case
    when exists (
      select 1 from ${commands}
      where ${commands.principalId} = ${refused.principalId} and ${commands.commandId} = ${refused.commandId}
        and ${commands.bucket} = ${refused.bucketOfCommand}) then 'command-taken'
    when ${refused.isNew} and exists (
      select 1 from ${deals} where ${deals.id} = ${refused.dealId} and ${deals.bucket} = ${refused.bucket})
      then 'deal-exists'
    when exists (
      select 1 from ${events}
      where ${events.dealId} = ${refused.dealId} and ${events.bucket} = ${refused.bucket}
        and ${events.sequence} >= ${refused.firstSequence})
      then 'version-lost' end as conflict`)

const kept = parameters({ command: 'json' })
/** Returns a row unless the command id is taken. */
export const keepCommandStatement = kept.statement(sql`
  insert into ${commands} select * from json_populate_record(null::${commands}, ${kept.command})
  on conflict do nothing returning to_json(${commands.commandId}) as command_id`)
