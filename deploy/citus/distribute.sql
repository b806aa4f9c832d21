-- Spreads the tables of deals over the nodes of Citus, in the database of the coordinator that a deal server has
-- migrated. README.md has the steps. Run again, it leaves tables as they are and makes the function again.
begin;
set local citus.shard_count = 8;
set local citus.multi_shard_modify_mode = 'sequential';
do $$
declare
  name text;
begin
  foreach name in array '{event_counters,deals,tasks,events,commands}'::text[] loop
    continue when exists (select from pg_dist_partition where logicalrelid = ('deals.' || name)::regclass);
    perform create_distributed_table(
      'deals.' || name, 'bucket',
      colocate_with := case name when 'event_counters' then 'none' else 'deals.event_counters' end);
  end loop;
end $$;

-- Does what deal-server/store/functions/commit.sql does, row by row: each statement here goes to one shard by a plan
-- that is kept, and Citus refuses INSERT within WITH. A shard may move between any two statements, until the first one
-- that writes to it.
create or replace function deals.commit(
  of_bucket smallint, changed text, happened text, remembered text, worked_on text
)
returns table (id uuid) language plpgsql as $$
#variable_conflict use_column
declare
  written uuid[] := '{}';
  wanted record;
  d deals.deals;
  e record;
  c deals.commands;
  t deals.tasks;
  counted smallint;
  upto bigint;
begin
  for wanted in
    select * from json_to_recordset(changed::json) as i(bucket smallint, id uuid, expected_version int, changes json)
    order by i.id
  loop
    if wanted.expected_version is null then
      d := json_populate_record(null::deals.deals, wanted.changes);
      insert into deals.deals (
        bucket, id, name, price, currency, description, completion_date, owner_id, status, held, hold_reason,
        hold_reason_code, held_at, held_by, price_reason, completion_date_reason, completion_date_penalty,
        cancel_reason, cancel_penalty, cancelled_at, completion, penalty_total, task_count, version, sequence,
        created_at, created_by, updated_at, updated_by, deleted_at, purge_at, owner_user_id
      ) values (
        wanted.bucket, d.id, d.name, d.price, d.currency, d.description, d.completion_date, d.owner_id, d.status,
        d.held, d.hold_reason, d.hold_reason_code, d.held_at, d.held_by, d.price_reason, d.completion_date_reason,
        d.completion_date_penalty, d.cancel_reason, d.cancel_penalty, d.cancelled_at, d.completion, d.penalty_total,
        d.task_count, d.version, d.sequence, d.created_at, d.created_by, d.updated_at, d.updated_by, d.deleted_at,
        d.purge_at, d.owner_user_id
      );
    else
      select s.* into d from deals.deals s
      where s.bucket = wanted.bucket and s.id = wanted.id and s.version = wanted.expected_version for update;
      continue when not found;
      d := json_populate_record(d, wanted.changes);
      update deals.deals s set
        name = d.name, price = d.price, currency = d.currency, description = d.description,
        completion_date = d.completion_date, owner_id = d.owner_id, status = d.status, held = d.held,
        hold_reason = d.hold_reason, hold_reason_code = d.hold_reason_code, held_at = d.held_at, held_by = d.held_by,
        price_reason = d.price_reason, completion_date_reason = d.completion_date_reason,
        completion_date_penalty = d.completion_date_penalty, cancel_reason = d.cancel_reason,
        cancel_penalty = d.cancel_penalty, cancelled_at = d.cancelled_at, completion = d.completion,
        penalty_total = d.penalty_total, task_count = d.task_count, version = d.version, sequence = d.sequence,
        created_at = d.created_at, created_by = d.created_by, updated_at = d.updated_at, updated_by = d.updated_by,
        deleted_at = d.deleted_at, purge_at = d.purge_at,
        owner_user_id = d.owner_user_id
      where s.bucket = wanted.bucket and s.id = wanted.id and s.version = wanted.expected_version;
      -- The update waited for a move, and does not see the rows that came with it. The caller repeats the commit.
      if not found then
        raise exception 'the shard of the deal has moved' using errcode = 'serialization_failure';
      end if;
    end if;
    written := written || wanted.id;
  end loop;

  -- Deals are locked in the order of their ids and then counters in the order of their buckets, in every batch.
  for e in
    select h.*, count(*) over (partition by h.bucket) as many
    from json_populate_recordset(null::deals.events, happened::json) h
    where h.deal_id = any(written) order by h.bucket, h.deal_id, h.sequence
  loop
    if e.bucket is distinct from counted then
      counted := e.bucket;
      update deals.event_counters s set count = s.count + e.many where s.bucket = e.bucket
      returning s.count - e.many into upto;
    end if;
    upto := upto + 1;
    insert into deals.events (
      bucket, number, schema_version, id, deal_id, sequence, deal_version, type, data, currency, occurred_at, actor,
      actor_user_id, use_case, style, command_id, correlation_id, client
    ) values (
      e.bucket, upto, 1, e.id, e.deal_id, e.sequence, e.deal_version, e.type, e.data, e.currency, e.occurred_at,
      e.actor, e.actor_user_id, e.use_case, e.style, e.command_id, e.correlation_id, e.client
    );
  end loop;

  if remembered <> '[]' then
    for c in
      select * from json_populate_recordset(null::deals.commands, remembered::json) h where h.deal_id = any(written)
    loop
      insert into deals.commands (
        bucket, principal_id, command_id, deal_id, use_case, params, fingerprint, outcome, style, request_id,
        requested_by, requested_at, expires_at, signature
      ) values (
        c.bucket, c.principal_id, c.command_id, c.deal_id, c.use_case, c.params, c.fingerprint, c.outcome, c.style,
        c.request_id, c.requested_by, c.requested_at, c.expires_at, c.signature
      );
    end loop;
  end if;

  if worked_on <> '[]' then
    for t in
      select * from json_populate_recordset(null::deals.tasks, worked_on::json) h where h.deal_id = any(written)
    loop
      insert into deals.tasks (
        bucket, deal_id, id, ordinal, title, due_date, assignee_id, assignee_user_id, status, result, created_at,
        assigned_at, done_at
      ) values (
        t.bucket, t.deal_id, t.id, t.ordinal, t.title, t.due_date, t.assignee_id, t.assignee_user_id, t.status,
        t.result, t.created_at, t.assigned_at, t.done_at
      )
      on conflict (deal_id, id, bucket) do update set
        ordinal = excluded.ordinal, title = excluded.title, due_date = excluded.due_date,
        assignee_id = excluded.assignee_id, assignee_user_id = excluded.assignee_user_id, status = excluded.status,
        result = excluded.result, created_at = excluded.created_at, assigned_at = excluded.assigned_at,
        done_at = excluded.done_at;
    end loop;
  end if;

  return query select unnest(written);
end $$;
-- Without a distribution argument no call is delegated to a worker: an update there that waited for a shard to arrive
-- finds no row. This also ends the delegation of earlier releases.
select create_distributed_function('deals.commit(smallint, text, text, text, text)');
commit;
