-- Writes the commits of a batch, all of them or none (docs/deal-model.md#write-path), and answers the ids of the deals
-- that were written: a deal whose version is not the expected one is left out, with all that belongs to it. A row that
-- exists raises 23505. "changed" is [{bucket, id, expected_version, changes}], where "changes" has the changed columns,
-- or all columns of a new deal; the others are rows of their tables. All four are JSON as text, so that each is parsed
-- once. "of_bucket" is the bucket of one of the deals, for a database that spreads its rows by buckets.
-- Rows are looked up by index, also by plans that were made while the tables were empty.
CREATE OR REPLACE FUNCTION "deals"."commit"(
  of_bucket smallint, changed text, happened text, remembered text, worked_on text
)
RETURNS TABLE (id uuid) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
  written uuid[];
BEGIN
  -- Deals are locked in the order of their ids and then counters in the order of their buckets, in every batch: so no
  -- two can wait for each other. The settings above leave no plan with another order, and no counter is looked at
  -- before all deals are written.
  WITH input AS MATERIALIZED (
    SELECT * FROM json_to_recordset(changed::json) AS i(bucket smallint, id uuid, expected_version int, changes json)
    ORDER BY i.id
  ),
  updated AS (
    UPDATE deals.deals d SET (
      name, price, currency, description, completion_date, owner_id, status, held, hold_reason, hold_reason_code,
      held_at, held_by, price_reason, completion_date_reason, completion_date_penalty, cancel_reason, cancel_penalty,
      cancelled_at, completion, penalty_total, task_count, version, sequence, created_at, created_by, updated_at,
      updated_by, deleted_at, purge_at, owner_user_id
    ) = (
      SELECT r.name, r.price, r.currency, r.description, r.completion_date, r.owner_id, r.status, r.held, r.hold_reason,
        r.hold_reason_code, r.held_at, r.held_by, r.price_reason, r.completion_date_reason, r.completion_date_penalty,
        r.cancel_reason, r.cancel_penalty, r.cancelled_at, r.completion, r.penalty_total, r.task_count, r.version,
        r.sequence, r.created_at, r.created_by, r.updated_at, r.updated_by, r.deleted_at, r.purge_at,
        r.owner_user_id
      FROM json_populate_record(d, i.changes) r
    )
    FROM input i WHERE d.id = i.id AND d.bucket = i.bucket AND d.version = i.expected_version
    RETURNING d.id
  ),
  inserted AS (
    INSERT INTO deals.deals SELECT r.* FROM input i, json_populate_record(null::deals.deals, i.changes) r
    WHERE i.expected_version IS NULL
    RETURNING id
  ),
  written_ids AS MATERIALIZED (SELECT u.id FROM updated u UNION ALL SELECT n.id FROM inserted n),
  happening AS MATERIALIZED (
    SELECT e.*, row_number() OVER (PARTITION BY e.bucket ORDER BY e.deal_id, e.sequence) AS nth
    FROM json_populate_recordset(null::deals.events, happened::json) e
    WHERE e.deal_id = ANY(ARRAY(SELECT w.id FROM written_ids w))
  ),
  counted AS (
    UPDATE deals.event_counters c SET count = c.count + h.many
    FROM (SELECT e.bucket, count(*) AS many FROM happening e GROUP BY e.bucket ORDER BY e.bucket) h
    WHERE c.bucket = h.bucket
    RETURNING c.bucket, c.count - h.many AS before
  ),
  logged AS (
    INSERT INTO deals.events (
      id, deal_id, sequence, deal_version, type, data, currency, occurred_at, actor, actor_user_id, use_case, style,
      command_id, correlation_id, client, bucket, number
    )
    SELECT e.id, e.deal_id, e.sequence, e.deal_version, e.type, e.data, e.currency, e.occurred_at, e.actor,
      e.actor_user_id, e.use_case, e.style, e.command_id, e.correlation_id, e.client, c.bucket, n.number
    FROM happening e JOIN counted c ON c.bucket = e.bucket, LATERAL (SELECT c.before + e.nth AS number) n
    ORDER BY c.bucket, n.number
  )
  SELECT ARRAY(SELECT w.id FROM written_ids w) INTO written;

  IF remembered <> '[]' THEN
    INSERT INTO deals.commands
    SELECT c.* FROM json_populate_recordset(null::deals.commands, remembered::json) c WHERE c.deal_id = ANY(written);
  END IF;

  IF worked_on <> '[]' THEN
    INSERT INTO deals.tasks
    SELECT t.* FROM json_populate_recordset(null::deals.tasks, worked_on::json) t WHERE t.deal_id = ANY(written)
    ON CONFLICT (deal_id, id, bucket) DO UPDATE SET
      ordinal = excluded.ordinal, title = excluded.title, due_date = excluded.due_date,
      assignee_id = excluded.assignee_id, assignee_user_id = excluded.assignee_user_id, status = excluded.status,
      result = excluded.result, created_at = excluded.created_at, assigned_at = excluded.assigned_at,
      done_at = excluded.done_at;
  END IF;

  RETURN QUERY SELECT unnest(written);
END $$;
