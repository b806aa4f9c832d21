CREATE SCHEMA "deals";
--> statement-breakpoint
-- The schema as release 0.3.0 left it.
CREATE TABLE "deals"."commands" (
	"principal_id" text NOT NULL,
	"command_id" text NOT NULL,
	"deal_id" uuid NOT NULL,
	"use_case" text NOT NULL,
	"params" json NOT NULL,
	"fingerprint" text NOT NULL,
	"outcome" json,
	"style" text NOT NULL,
	"request_id" uuid NOT NULL,
	"requested_by" text NOT NULL,
	"requested_at" timestamp(3) with time zone NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL,
	"signature" text,
	"bucket" smallint NOT NULL,
	CONSTRAINT "commands_pkey" PRIMARY KEY("principal_id","command_id","bucket")
) WITH (fillfactor = 100);
--> statement-breakpoint
-- Most commands change a deal in place. With room on its page, the new version of a row needs no new entries in the
-- indexes: of random updates on 1,000,000 deals all were such instead of 57 to 72 in 100, and they wrote half the WAL.
CREATE TABLE "deals"."deals" (
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"price" bigint NOT NULL,
	"currency" char(3) NOT NULL,
	"description" text,
	"completion_date" date,
	"owner_id" text NOT NULL,
	"status" text NOT NULL,
	"held" boolean NOT NULL,
	"hold_reason" text,
	"hold_reason_code" text,
	"held_at" timestamp(3) with time zone,
	"held_by" text,
	"price_reason" text,
	"completion_date_reason" text,
	"completion_date_penalty" bigint,
	"cancel_reason" text,
	"cancel_penalty" bigint,
	"cancelled_at" timestamp(3) with time zone,
	"completion" jsonb,
	"penalty_total" bigint NOT NULL,
	"task_count" integer NOT NULL,
	"version" integer NOT NULL,
	"sequence" integer NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"created_by" text NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"updated_by" text NOT NULL,
	"deleted_at" timestamp(3) with time zone,
	"purge_at" timestamp(3) with time zone,
	"bucket" smallint NOT NULL,
	"owner_user_id" text,
	CONSTRAINT "deals_pkey" PRIMARY KEY("id","bucket"),
	CONSTRAINT "deals_held_has_reason" CHECK ("deals"."deals"."held" = ("deals"."deals"."hold_reason" is not null)),
	CONSTRAINT "deals_held_is_open" CHECK (not ("deals"."deals"."held" and "deals"."deals"."status" <> 'open')),
	CONSTRAINT "deals_cancelled_has_reason" CHECK (("deals"."deals"."status" = 'cancelled') = ("deals"."deals"."cancel_reason" is not null)),
	CONSTRAINT "deals_price_range" CHECK ("deals"."deals"."price" between 0 and 999999999999999),
	CONSTRAINT "deals_penalty_range" CHECK ("deals"."deals"."penalty_total" between 0 and 999999999999999),
	CONSTRAINT "deals_status" CHECK ("deals"."deals"."status" in ('open', 'completed', 'cancelled'))
) WITH (fillfactor = 85);
--> statement-breakpoint
CREATE TABLE "deals"."digest_counts" (
	"nonce" text PRIMARY KEY NOT NULL,
	"highest" integer NOT NULL,
	"used" bigint NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "digest_counts_highest" CHECK ("deals"."digest_counts"."highest" >= 1)
);
--> statement-breakpoint
-- With so much room on its pages, no update of a counter needs a new entry in the index.
CREATE TABLE "deals"."event_counters" (
	"bucket" smallint PRIMARY KEY NOT NULL,
	"count" bigint NOT NULL
) WITH (fillfactor = 20);
--> statement-breakpoint
CREATE TABLE "deals"."event_log" (
	"one" integer PRIMARY KEY NOT NULL CHECK ("one" = 1),
	"last_position" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deals"."event_slices" (
	"last_position" bigint PRIMARY KEY NOT NULL,
	"bucket" smallint NOT NULL,
	"total" integer NOT NULL,
	"upto" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deals"."event_timelines" (
	"ordinal" integer PRIMARY KEY NOT NULL,
	"timeline" text NOT NULL,
	"begins_after" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deals"."events" (
	"id" uuid NOT NULL,
	"deal_id" uuid NOT NULL,
	"sequence" integer NOT NULL,
	"deal_version" integer NOT NULL,
	"type" text NOT NULL,
	"data" json NOT NULL,
	"currency" char(3) NOT NULL,
	"occurred_at" timestamp(3) with time zone NOT NULL,
	"actor" text NOT NULL,
	"use_case" text NOT NULL,
	"style" text NOT NULL,
	"command_id" text,
	"correlation_id" uuid NOT NULL,
	"schema_version" integer DEFAULT 1 NOT NULL,
	"actor_user_id" text,
	"bucket" smallint NOT NULL,
	"number" bigint NOT NULL,
	CONSTRAINT "events_of_deal" PRIMARY KEY("deal_id","sequence","bucket")
);
--> statement-breakpoint
-- With so much room on its pages, no update of a counter needs a new entry in the index.
CREATE TABLE "deals"."sliced_counters" (
	"bucket" smallint PRIMARY KEY NOT NULL,
	"upto" bigint NOT NULL
) WITH (fillfactor = 20);
--> statement-breakpoint
CREATE TABLE "deals"."tasks" (
	"deal_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"ordinal" integer NOT NULL,
	"title" text NOT NULL,
	"due_date" date,
	"assignee_id" text,
	"status" text NOT NULL,
	"result" text,
	"created_at" timestamp(3) with time zone NOT NULL,
	"assigned_at" timestamp(3) with time zone,
	"done_at" timestamp(3) with time zone,
	"assignee_user_id" text,
	"bucket" smallint NOT NULL,
	CONSTRAINT "tasks_pkey" PRIMARY KEY("deal_id","id","bucket"),
	CONSTRAINT "tasks_status" CHECK ("deals"."tasks"."status" in ('open', 'done', 'dropped'))
) WITH (fillfactor = 100);
--> statement-breakpoint
CREATE TABLE "deals"."used_signatures" (
	"key_id" text NOT NULL,
	"signature" text NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL,
	"used_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "used_signatures_pkey" PRIMARY KEY("key_id","signature")
);
--> statement-breakpoint
CREATE TABLE "deals"."webhook_attempts" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"webhook_id" uuid NOT NULL,
	"event_id" uuid NOT NULL,
	"type" text NOT NULL,
	"deal_id" uuid,
	"attempt" integer NOT NULL,
	"at" timestamp(3) with time zone NOT NULL,
	"duration_ms" integer NOT NULL,
	"outcome" text NOT NULL,
	"status" integer,
	"reason" text
);
--> statement-breakpoint
CREATE TABLE "deals"."webhook_blocked" (
	"webhook_id" uuid NOT NULL,
	"deal_id" uuid NOT NULL,
	"sequence" integer NOT NULL,
	"attempts" integer NOT NULL,
	"next_attempt_at" timestamp(3) with time zone NOT NULL,
	"since" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "webhook_blocked_pkey" PRIMARY KEY("webhook_id","deal_id")
);
--> statement-breakpoint
CREATE TABLE "deals"."webhooks" (
	"id" uuid PRIMARY KEY NOT NULL,
	"url" text NOT NULL,
	"types" jsonb NOT NULL,
	"deals" jsonb NOT NULL,
	"description" text,
	"state" text NOT NULL,
	"paused_reason" text,
	"paused_at" timestamp(3) with time zone,
	"pause_reported" boolean NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"responsible" text NOT NULL,
	"responsible_user_id" text NOT NULL,
	"sees_deleted" boolean NOT NULL,
	"secret" text NOT NULL,
	"former_secret" text,
	"former_secret_until" timestamp(3) with time zone,
	"revision" integer NOT NULL,
	"position" bigint NOT NULL,
	"failures" integer NOT NULL,
	"last_success_at" timestamp(3) with time zone,
	"last_failure_at" timestamp(3) with time zone,
	"last_failure_status" integer,
	"last_failure_reason" text,
	"held_until" timestamp(3) with time zone,
	"lease_owner" uuid,
	"lease_until" timestamp(3) with time zone,
	"responsible_generation" integer,
	CONSTRAINT "webhooks_state" CHECK ("deals"."webhooks"."state" in ('active', 'paused')),
	CONSTRAINT "webhooks_paused_has_reason" CHECK (("deals"."webhooks"."state" = 'paused') = ("deals"."webhooks"."paused_reason" is not null))
);
--> statement-breakpoint
ALTER TABLE "deals"."webhook_attempts" ADD CONSTRAINT "webhook_attempts_webhook_id_webhooks_id_fk" FOREIGN KEY ("webhook_id") REFERENCES "deals"."webhooks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deals"."webhook_blocked" ADD CONSTRAINT "webhook_blocked_webhook_id_webhooks_id_fk" FOREIGN KEY ("webhook_id") REFERENCES "deals"."webhooks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "commands_of_deal" ON "deals"."commands" USING btree ("deal_id","requested_at","command_id","principal_id");--> statement-breakpoint
CREATE INDEX "commands_to_expire" ON "deals"."commands" USING btree ("expires_at") WHERE "deals"."commands"."outcome" is not null;--> statement-breakpoint
CREATE INDEX "deals_by_creation" ON "deals"."deals" USING btree ("created_at","id") WHERE "deals"."deals"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "deals_by_status" ON "deals"."deals" USING btree ("status","created_at","id") WHERE "deals"."deals"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "deals_by_owner" ON "deals"."deals" USING btree (lower("owner_id" collate "C"),"completion_date","id") WHERE "deals"."deals"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "deals_by_completion_date" ON "deals"."deals" USING btree ("completion_date","id") WHERE "deals"."deals"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "deals_by_name" ON "deals"."deals" USING btree ("name" collate "C","id") WHERE "deals"."deals"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "deals_by_price" ON "deals"."deals" USING btree ("currency","price","id") WHERE "deals"."deals"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "deals_to_purge" ON "deals"."deals" USING btree ("purge_at") WHERE "deals"."deals"."purge_at" is not null;--> statement-breakpoint
CREATE INDEX "digest_counts_expires_at" ON "deals"."digest_counts" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "event_slices_in_buckets" ON "deals"."event_slices" USING btree ("bucket","upto");--> statement-breakpoint
CREATE UNIQUE INDEX "events_in_buckets" ON "deals"."events" USING btree ("bucket","number");--> statement-breakpoint
CREATE INDEX "tasks_of_assignee" ON "deals"."tasks" USING btree (lower("assignee_id" collate "C"),"due_date","id","deal_id") WHERE "deals"."tasks"."status" = 'open';--> statement-breakpoint
CREATE INDEX "used_signatures_expires_at" ON "deals"."used_signatures" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "webhook_attempts_of_webhook" ON "deals"."webhook_attempts" USING btree ("webhook_id","id");--> statement-breakpoint
CREATE INDEX "webhook_attempts_by_time" ON "deals"."webhook_attempts" USING btree ("at");
--> statement-breakpoint
-- SHA-256, since MD5 is not there under FIPS. deal-server/store/events/bucket.ts does the same.
CREATE OR REPLACE FUNCTION "deals"."bucket_of"(id uuid) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ('x' || left(encode(sha256(uuid_send(id)), 'hex'), 4))::bit(16)::int & 1023
$$;
--> statement-breakpoint
-- The history of the database, see shared/platform/history/history.ts; null on a standby.
CREATE OR REPLACE FUNCTION "deals"."present_timeline"() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT CASE WHEN NOT pg_is_in_recovery() THEN (pg_control_system()).system_identifier || '.' ||
    left(pg_walfile_name(pg_current_wal_lsn()), 8) END
$$;
--> statement-breakpoint
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
      command_id, correlation_id, bucket, number
    )
    SELECT e.id, e.deal_id, e.sequence, e.deal_version, e.type, e.data, e.currency, e.occurred_at, e.actor,
      e.actor_user_id, e.use_case, e.style, e.command_id, e.correlation_id, c.bucket, n.number
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
--> statement-breakpoint
-- Puts what was committed since the last look into slices, one for each bucket, and answers the last position of the
-- log. Whoever reads the log calls it first, as often as he likes: without new events it only looks. Buckets come by
-- the time of their first new event. A statement reads either the tables of buckets, which may be spread over several
-- databases, or those of the log.
CREATE OR REPLACE FUNCTION "deals"."slice_events"() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  present text := deals.present_timeline();
  reached bigint;
  seen smallint[];
  counts bigint[];
  firsts bigint[];
  in_order smallint[];
BEGIN
  SELECT l.last_position INTO reached FROM deals.event_log l
  WHERE present = (SELECT t.timeline FROM deals.event_timelines t ORDER BY t.ordinal DESC LIMIT 1)
    AND (SELECT sum(c.count) FROM deals.event_counters c) <= (SELECT sum(s.upto) FROM deals.sliced_counters s);
  IF FOUND THEN RETURN reached; END IF;

  -- One at a time. Each statement from here on sees what the one before it has committed. The lock writes nothing: of
  -- many servers that were woken together, all but the first find that nothing is left.
  LOCK TABLE deals.event_log IN SHARE UPDATE EXCLUSIVE MODE;
  INSERT INTO deals.event_timelines
  SELECT t.ordinal + 1, present, l.last_position
  FROM (SELECT * FROM deals.event_timelines ORDER BY ordinal DESC LIMIT 1) t, deals.event_log l
  WHERE t.timeline <> present;

  SELECT array_agg(c.bucket), array_agg(c.count) INTO seen, counts FROM deals.event_counters c WHERE c.count > 0;
  SELECT array_agg(n.bucket), array_agg(n.count), array_agg(s.upto + 1) INTO seen, counts, firsts
  FROM unnest(seen, counts) AS n(bucket, count) JOIN deals.sliced_counters s ON s.bucket = n.bucket
  WHERE n.count > s.upto;
  SELECT array_agg(e.bucket ORDER BY e.occurred_at, e.bucket) INTO in_order
  FROM unnest(seen, firsts) AS n(bucket, number) CROSS JOIN LATERAL (
    SELECT DISTINCT ON (e.bucket) e.bucket, e.occurred_at FROM deals.events e
    WHERE e.bucket = n.bucket AND e.number = n.number
  ) e;

  WITH ahead AS MATERIALIZED (
    SELECT n.bucket, (n.count - n.first + 1)::int AS total, n.count AS upto
    FROM unnest(seen, counts, firsts) AS n(bucket, count, first)
  ),
  noted AS (UPDATE deals.sliced_counters s SET upto = a.upto FROM ahead a WHERE s.bucket = a.bucket),
  sliced AS (
    INSERT INTO deals.event_slices (last_position, bucket, total, upto)
    SELECT l.last_position + sum(a.total) OVER (ORDER BY array_position(in_order, a.bucket), a.bucket), a.bucket, a.total,
      a.upto
    FROM ahead a, deals.event_log l
    RETURNING last_position
  )
  UPDATE deals.event_log l SET last_position = n.reached
  FROM (SELECT max(s.last_position) AS reached FROM sliced s) n WHERE n.reached IS NOT NULL;

  SELECT l.last_position INTO reached FROM deals.event_log l;
  RETURN reached;
END $$;
--> statement-breakpoint
INSERT INTO "deals"."event_counters" SELECT bucket, 0 FROM generate_series(0, 1023) bucket;
--> statement-breakpoint
INSERT INTO "deals"."sliced_counters" SELECT bucket, 0 FROM generate_series(0, 1023) bucket;
--> statement-breakpoint
INSERT INTO "deals"."event_timelines" VALUES (1, deals.present_timeline(), 0);
--> statement-breakpoint
INSERT INTO "deals"."event_log" VALUES (1, 0);
