/** The hot statements. Each is prepared once and runs for a whole batch, whose data is JSON text. */

/** The rows of a deal's tasks in their order. A deal without tasks skips the table. */
const tasksOfDeal = `case when d.task_count > 0 then
    (select json_agg(t order by t.ordinal) from deals.tasks t
      where t.deal_id = d.id and t.bucket = d.bucket) end`

/** `$1`: text of a uuid array. */
export const readDealsStatement = `
  select to_json(d) as deal, ${tasksOfDeal} as tasks from deals.deals d where d.id = any($1::text::uuid[])`

/**
 * `$1`: `[{ordinal, deal_id, bucket, principal_id, command_id, command_bucket, for_creation}]`. `purged` is not null
 * for a creation whose id occurs only in events. Each `limit 1` enforces a lookup by index: a plain join is planned as
 * a scan while the table is small, and the prepared plan stays when the table grows.
 */
export const loadStatement = `
  select i.ordinal, to_json(d) as deal, ${tasksOfDeal} as tasks, to_json(c) as command,
    case when i.for_creation and d.id is null then
      (select to_json(true) from deals.events e
        where e.deal_id = i.deal_id and e.bucket = i.bucket limit 1) end as purged
  from json_to_recordset($1::text::json) as
    i(ordinal int, deal_id uuid, bucket smallint, principal_id text, command_id text, command_bucket smallint,
      for_creation boolean)
  left join lateral (select * from deals.deals where id = i.deal_id and bucket = i.bucket limit 1) d on true
  left join lateral (
    select * from deals.commands
    where principal_id = i.principal_id and command_id = i.command_id and bucket = i.command_bucket limit 1
  ) c on true`

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
export const conflictStatement = `
  select case
    when exists (
      select 1 from deals.commands
      where principal_id = $1::text and command_id = $2::text and bucket = $3::text::smallint) then 'command-taken'
    when $6::text::boolean and exists (
      select 1 from deals.deals where id = $4::text::uuid and bucket = $5::text::smallint) then 'deal-exists'
    when exists (
      select 1 from deals.events
      where deal_id = $4::text::uuid and bucket = $5::text::smallint and sequence >= $7::text::int)
      then 'version-lost' end as conflict`

/** `$1`: a command row. Returns a row unless the command id is taken. */
export const keepCommandStatement = `
  insert into deals.commands select * from json_populate_record(null::deals.commands, $1::text::json)
  on conflict do nothing returning command_id`
