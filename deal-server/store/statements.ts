/**
 * The hot statements. Each is prepared once and runs for a whole batch, whose data is one JSON text.
 *
 * The parts of a statement share one snapshot, and "0 rows" rolls nothing back (docs/deal-model.md#write-path). So the
 * guarded update or insert of the deal comes first, and command row and events are inserted from the rows that it
 * returned. A lost version then writes nothing. A taken command id raises 23505, which undoes the whole statement.
 * Deals are locked first, in the order of their ids, so that two batches cannot wait for each other.
 */
import { getTableColumns } from 'drizzle-orm'
import { deals, events, tasks } from './schema.ts'

/** The rows of a deal's tasks in their order. A deal without tasks skips the table. */
const tasksOfDeal = `case when d.task_count > 0 then
    (select json_agg(t order by t.ordinal) from deals.tasks t where t.deal_id = d.id) end`

/** `$1`: text of a uuid array. */
export const readDealsStatement = `
  select to_json(d) as deal, ${tasksOfDeal} as tasks from deals.deals d where d.id = any($1::text::uuid[])`

/**
 * `$1`: `[{ordinal, deal_id, principal_id, command_id, for_creation}]`. `purged` is not null for a creation whose id
 * occurs only in events. Each `limit 1` enforces a lookup by index: a plain join is planned as a scan while the table
 * is small, and the prepared plan stays when the table grows.
 */
export const loadStatement = `
  select i.ordinal, to_json(d) as deal, ${tasksOfDeal} as tasks, to_json(c) as command,
    case when i.for_creation and d.id is null then
      (select to_json(true) from deals.events e where e.deal_id = i.deal_id limit 1) end as purged
  from json_to_recordset($1::text::json) as
    i(ordinal int, deal_id uuid, principal_id text, command_id text, for_creation boolean)
  left join lateral (select * from deals.deals where id = i.deal_id limit 1) d on true
  left join lateral (
    select * from deals.commands where principal_id = i.principal_id and command_id = i.command_id limit 1
  ) c on true`

const columnsOf = (table: typeof deals | typeof tasks | typeof events) =>
  Object.values(getTableColumns(table)).map(({ name }) => name)
const mutableDealColumns = columnsOf(deals).filter((name) => name !== 'id')
const mutableTaskColumns = columnsOf(tasks).filter((name) => name !== 'id' && name !== 'deal_id')
const ownEventColumns = new Set(['position', 'xid', 'schema_version'])
const eventColumns = columnsOf(events).filter((name) => !ownEventColumns.has(name))

/**
 * `$1`: `[{id, expected_version, changes}]`, where `changes` has the changed columns, or all columns of a new deal;
 * `$2`, `$3`, `$4`: rows of events, commands and tasks. Returns the id of each deal that was written.
 */
export const commitStatement = `
  with input as materialized (
    select * from json_to_recordset($1::text::json) as i(id uuid, expected_version int, changes json)
  ),
  locked as materialized (
    select d.id from deals.deals d
    where d.id = any(array(select id from input where expected_version is not null)) order by d.id for update
  ),
  updated as (
    update deals.deals d
    set (${mutableDealColumns.join(', ')}) =
      (select ${mutableDealColumns.map((name) => `r.${name}`).join(', ')} from json_populate_record(d, i.changes) r)
    from input i join locked l on l.id = i.id
    where d.id = i.id and d.version = i.expected_version
    returning d.id
  ),
  inserted as (
    insert into deals.deals select r.* from input i, json_populate_record(null::deals.deals, i.changes) r
    where i.expected_version is null
    returning id
  ),
  written as (select id from updated union all select id from inserted),
  happened as (
    insert into deals.events (${eventColumns.join(', ')})
    select ${eventColumns.map((name) => `e.${name}`).join(', ')}
    from json_populate_recordset(null::deals.events, $2::text::json) e join written w on w.id = e.deal_id
  ),
  remembered as (
    insert into deals.commands
    select c.* from json_populate_recordset(null::deals.commands, $3::text::json) c join written w on w.id = c.deal_id
  ),
  worked_on as (
    insert into deals.tasks
    select t.* from json_populate_recordset(null::deals.tasks, $4::text::json) t join written w on w.id = t.deal_id
    on conflict (deal_id, id) do update set ${mutableTaskColumns.map((name) => `${name} = excluded.${name}`).join(', ')}
  )
  select id from written`

/**
 * What a commit that raised 23505 met, told by rows: names of constraints differ between the parts of a table. `$1`,
 * `$2`: principal and command id, or nulls; `$3`: the deal; `$4`: whether it is a new one; `$5`: its first event.
 */
export const conflictStatement = `
  select case
    when exists (select from deals.commands where principal_id = $1::text and command_id = $2::text)
      then 'command-taken'
    when $4::text::boolean and exists (select from deals.deals where id = $3::text::uuid) then 'deal-exists'
    when exists (select from deals.events where deal_id = $3::text::uuid and sequence >= $5::text::int)
      then 'version-lost' end as conflict`

/** `$1`: a command row. Returns a row unless the command id is taken. */
export const keepCommandStatement = `
  insert into deals.commands select * from json_populate_record(null::deals.commands, $1::text::json)
  on conflict do nothing returning command_id`
