-- In a transaction of its own, while no server runs: the copy of the events needs as much room as they have.
-- The position of an event becomes a number without a gap that is computed (docs/deal-model.md#event-order). Events
-- without a number get those below the numbers of their buckets. A slice becomes a row for each of its buckets, and two
-- rows where a webhook stands in the middle: so each webhook goes on behind the event at which it was. Each statement
-- copies some 10,000 events.
SET LOCAL work_mem = '64MB';--> statement-breakpoint
LOCK TABLE deals.events, deals.event_counters, deals.event_log, deals.webhooks IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
UPDATE deals.event_log SET former_seen_at = NULL;--> statement-breakpoint
SELECT deals.slice_events();--> statement-breakpoint
-- Where webhooks stand in the former order, and how many others stand before them in the same slice.
CREATE TABLE deals.former_places AS
SELECT w.id, p.slice, p.turn, p.position, rank() OVER (PARTITION BY p.slice ORDER BY p.turn, p.position) - 1 AS others,
  0::bigint AS reached
FROM deals.webhooks w
  JOIN deals.events e ON e.position = (SELECT max(l.position) FROM deals.events l WHERE l.position <= w.position)
  CROSS JOIN LATERAL deals.place_of(e) p;--> statement-breakpoint
DROP FUNCTION "deals"."slice_events"();--> statement-breakpoint
DROP FUNCTION "deals"."happened_after"(bigint, bigint, bigint);--> statement-breakpoint
DROP FUNCTION "deals"."last_place"();--> statement-breakpoint
DROP FUNCTION "deals"."events_of_slice"(bigint);--> statement-breakpoint
DROP FUNCTION "deals"."place_of"(deals.events);--> statement-breakpoint
ALTER TABLE deals.events RENAME TO former_events;--> statement-breakpoint
ALTER TABLE deals.event_slices RENAME TO former_slices;--> statement-breakpoint
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
	"number" bigint NOT NULL
);--> statement-breakpoint
CREATE TABLE "deals"."event_slices" (
	"last_position" bigint NOT NULL,
	"bucket" smallint NOT NULL,
	"total" integer NOT NULL,
	"upto" bigint NOT NULL
);--> statement-breakpoint
-- How far the events without a number are numbered: those of a bucket end with 0.
CREATE TABLE deals.former_counts AS
SELECT b.bucket::smallint AS bucket, -coalesce(n.many, 0) AS upto
FROM generate_series(0, 1023) AS b(bucket) LEFT JOIN (
  SELECT deals.bucket_of(e.deal_id) AS bucket, count(*) AS many FROM deals.former_events e
  WHERE e.number IS NULL GROUP BY 1
) n ON n.bucket = b.bucket;--> statement-breakpoint
DO $$
DECLARE
  done_xid xid8 := '0';
  done_position bigint := 0;
  stop record;
  copied record;
  so_far bigint := 0;
BEGIN
  LOOP
    -- Up to where the next webhook stands.
    SELECT * INTO stop FROM (
      SELECT p.turn::text::xid8 AS xid, p.position FROM deals.former_places p WHERE p.slice = 0
      UNION ALL SELECT l.unnumbered_xid, l.unnumbered_position FROM deals.event_log l
    ) s WHERE (s.xid, s.position) > (done_xid, done_position) ORDER BY s.xid, s.position LIMIT 1;
    EXIT WHEN NOT FOUND;
    WITH taken AS MATERIALIZED (
      SELECT e.*, deals.bucket_of(e.deal_id)::smallint AS of_deal FROM deals.former_events e
      WHERE e.number IS NULL AND (e.xid, e.position) > (done_xid, done_position)
        AND (e.xid, e.position) <= (stop.xid, stop.position)
      ORDER BY e.xid, e.position LIMIT 10000
    ),
    numbered AS MATERIALIZED (
      SELECT t.*, c.upto + row_number() OVER (PARTITION BY t.of_deal ORDER BY t.xid, t.position) AS nth
      FROM taken t JOIN deals.former_counts c ON c.bucket = t.of_deal
    ),
    parts AS MATERIALIZED (
      SELECT n.of_deal, count(*)::int AS total, max(n.nth) AS upto FROM numbered n GROUP BY n.of_deal
    ),
    copying AS (
      INSERT INTO deals.events
      SELECT n.id, n.deal_id, n.sequence, n.deal_version, n.type, n.data, n.currency, n.occurred_at, n.actor, n.use_case,
        n.style, n.command_id, n.correlation_id, n.schema_version, n.actor_user_id,
        n.of_deal, n.nth
      FROM numbered n ORDER BY n.of_deal, n.nth
    ),
    slicing AS (
      INSERT INTO deals.event_slices
      SELECT so_far + sum(p.total) OVER (ORDER BY p.of_deal), p.of_deal, p.total, p.upto FROM parts p
    ),
    counting AS (UPDATE deals.former_counts c SET upto = p.upto FROM parts p WHERE p.of_deal = c.bucket)
    SELECT count(*) AS many, (array_agg(n.xid ORDER BY n.xid DESC, n.position DESC))[1] AS xid,
      (array_agg(n.position ORDER BY n.xid DESC, n.position DESC))[1] AS position INTO copied FROM numbered n;
    so_far := so_far + copied.many;
    IF so_far % 1000000 < copied.many THEN RAISE LOG 'deals: % events have a position', so_far; END IF;
    done_xid := CASE WHEN copied.many = 10000 THEN copied.xid ELSE stop.xid END;
    done_position := CASE WHEN copied.many = 10000 THEN copied.position ELSE stop.position END;
    UPDATE deals.former_places p SET reached = so_far
    WHERE p.slice = 0 AND (p.turn::text::xid8, p.position) = (done_xid, done_position);
  END LOOP;
END $$;--> statement-breakpoint
DO $$
DECLARE
  done bigint := 0;
BEGIN
  LOOP
    WITH taken AS MATERIALIZED (
      SELECT * FROM deals.former_events e WHERE e.number IS NOT NULL AND e.position > done
      ORDER BY e.position LIMIT 10000
    ),
    copying AS (
      INSERT INTO deals.events
      SELECT t.id, t.deal_id, t.sequence, t.deal_version, t.type, t.data, t.currency, t.occurred_at, t.actor, t.use_case,
        t.style, t.command_id, t.correlation_id, t.schema_version, t.actor_user_id,
        t.bucket, t.number
      FROM taken t ORDER BY t.position
    )
    SELECT max(t.position) INTO done FROM taken t;
    EXIT WHEN done IS NULL;
  END LOOP;
END $$;--> statement-breakpoint
-- Slices in which webhooks stand, by the webhooks behind which the events of a bucket come. An event that comes behind a
-- later one of its bucket goes with that.
CREATE TABLE deals.former_parts AS
SELECT n.slice, n.part, n.bucket, count(*)::int AS many, max(n.number) AS upto
FROM (
  SELECT s.slice, r.bucket, i.number, max(b.many) OVER (PARTITION BY s.slice, r.bucket ORDER BY i.number) AS part
  FROM deals.former_slices s CROSS JOIN LATERAL unnest(s.buckets, s.counts, s.uptos) AS r(bucket, many, upto)
    CROSS JOIN LATERAL generate_series(r.upto - r.many + 1, r.upto) AS i(number)
    LEFT JOIN deals.former_events e ON e.bucket = r.bucket AND e.number = i.number
    CROSS JOIN LATERAL (
      SELECT count(*) AS many FROM deals.former_places p
      WHERE p.slice = s.slice
        AND (p.turn, p.position) < (CASE WHEN s.by_xid THEN e.xid::text::bigint ELSE 0 END, e.position)
    ) b
  WHERE s.slice IN (SELECT p.slice FROM deals.former_places p)
) n GROUP BY n.slice, n.part, n.bucket;--> statement-breakpoint
ALTER TABLE deals.event_timelines ADD COLUMN "begins_after" bigint NOT NULL DEFAULT 0;--> statement-breakpoint
DO $$
DECLARE
  done bigint := 0;
  next bigint;
  so_far bigint := (SELECT coalesce(max(s.last_position), 0) FROM deals.event_slices s);
BEGIN
  LOOP
    UPDATE deals.event_timelines t SET begins_after = so_far WHERE t.first_slice > done;
    UPDATE deals.former_places p SET reached = so_far WHERE p.slice > done;
    WITH taken AS MATERIALIZED (
      SELECT * FROM deals.former_slices s WHERE s.slice > done ORDER BY s.slice LIMIT 200
    ),
    parts AS (
      SELECT t.slice, 0::bigint AS part, r.bucket, r.many, r.upto
      FROM taken t CROSS JOIN LATERAL unnest(t.buckets, t.counts, t.uptos) AS r(bucket, many, upto)
      WHERE t.slice NOT IN (SELECT p.slice FROM deals.former_places p)
      UNION ALL
      SELECT p.slice, p.part, p.bucket, p.many, p.upto FROM deals.former_parts p JOIN taken t ON t.slice = p.slice
    ),
    placed AS MATERIALIZED (
      SELECT p.*, so_far + sum(p.many) OVER (ORDER BY p.slice, p.part, p.bucket) AS last_position FROM parts p
    ),
    slicing AS (
      INSERT INTO deals.event_slices SELECT p.last_position, p.bucket, p.many, p.upto FROM placed p
    ),
    beginning AS (
      UPDATE deals.event_timelines t SET begins_after = f.last_position
      FROM (
        SELECT t.ordinal, max(p.last_position) AS last_position
        FROM deals.event_timelines t JOIN placed p ON p.slice < t.first_slice GROUP BY t.ordinal
      ) f WHERE f.ordinal = t.ordinal
    ),
    standing AS (
      UPDATE deals.former_places w SET reached = f.last_position
      FROM (
        SELECT w.id, max(p.last_position) AS last_position
        FROM deals.former_places w JOIN placed p ON p.slice < w.slice OR (p.slice = w.slice AND p.part <= w.others)
        GROUP BY w.id
      ) f WHERE f.id = w.id AND w.slice > done
    )
    SELECT max(p.slice), coalesce(max(p.last_position), so_far) INTO next, so_far FROM placed p;
    EXIT WHEN next IS NULL;
    done := next;
  END LOOP;
  ALTER TABLE deals.event_log RENAME COLUMN last_slice TO last_position;
  UPDATE deals.event_log SET last_position = so_far;
END $$;--> statement-breakpoint
UPDATE deals.webhooks w
SET position = coalesce((SELECT p.reached FROM deals.former_places p WHERE p.id = w.id), 0);--> statement-breakpoint
DROP TABLE deals.former_events, deals.former_slices, deals.former_places, deals.former_counts,
  deals.former_parts;--> statement-breakpoint
DROP FUNCTION "deals"."number_event"();--> statement-breakpoint
ALTER TABLE deals.event_log DROP COLUMN unnumbered_xid, DROP COLUMN unnumbered_position, DROP COLUMN former_seen_at,
  DROP COLUMN former_timeline;--> statement-breakpoint
ALTER TABLE deals.event_timelines DROP COLUMN first_slice, ALTER COLUMN begins_after DROP DEFAULT;--> statement-breakpoint
ALTER TABLE "deals"."events" ADD CONSTRAINT "events_of_deal" PRIMARY KEY("deal_id","sequence","bucket");--> statement-breakpoint
CREATE UNIQUE INDEX "events_in_buckets" ON "deals"."events" USING btree ("bucket","number");--> statement-breakpoint
ALTER TABLE "deals"."event_slices" ADD CONSTRAINT "event_slices_pkey" PRIMARY KEY("last_position");--> statement-breakpoint
CREATE UNIQUE INDEX "event_slices_in_buckets" ON "deals"."event_slices" USING btree ("bucket","upto");--> statement-breakpoint
-- An empty table that was looked at counts as one that stays empty: all its plans would read all rows.
DO $$
DECLARE
  one text;
BEGIN
  FOREACH one IN ARRAY ARRAY['deals.events', 'deals.event_slices'] LOOP
    IF pg_relation_size(one::regclass) > 0 THEN EXECUTE 'ANALYZE ' || one; END IF;
  END LOOP;
END $$;--> statement-breakpoint
-- Puts what was committed since the last look into slices, one for each bucket, and answers the last position of the
-- log. Whoever reads the log calls it first, as often as he likes: without new events it only looks. Buckets come by
-- the time of their first new event.
CREATE FUNCTION "deals"."slice_events"() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  present text := deals.present_timeline();
  reached bigint;
BEGIN
  SELECT l.last_position INTO reached FROM deals.event_log l
  WHERE present = (SELECT t.timeline FROM deals.event_timelines t ORDER BY t.ordinal DESC LIMIT 1)
    AND NOT EXISTS (
      SELECT FROM deals.event_counters c JOIN deals.sliced_counters s ON s.bucket = c.bucket WHERE c.count > s.upto);
  IF FOUND THEN RETURN reached; END IF;

  -- One at a time. Each statement from here on sees what the one before it has committed. The lock writes nothing: of
  -- many servers that were woken together, all but the first find that nothing is left.
  LOCK TABLE deals.event_log IN SHARE UPDATE EXCLUSIVE MODE;
  INSERT INTO deals.event_timelines
  SELECT t.ordinal + 1, present, l.last_position
  FROM (SELECT * FROM deals.event_timelines ORDER BY ordinal DESC LIMIT 1) t, deals.event_log l
  WHERE t.timeline <> present;

  WITH ahead AS MATERIALIZED (
    SELECT c.bucket, (c.count - s.upto)::int AS total, c.count AS upto, e.occurred_at
    FROM deals.event_counters c JOIN deals.sliced_counters s ON s.bucket = c.bucket
      LEFT JOIN deals.events e ON e.bucket = c.bucket AND e.number = s.upto + 1
    WHERE c.count > s.upto
  ),
  noted AS (UPDATE deals.sliced_counters s SET upto = a.upto FROM ahead a WHERE s.bucket = a.bucket),
  sliced AS (
    INSERT INTO deals.event_slices (last_position, bucket, total, upto)
    SELECT l.last_position + sum(a.total) OVER (ORDER BY a.occurred_at, a.bucket), a.bucket, a.total, a.upto
    FROM ahead a, deals.event_log l
    RETURNING last_position
  )
  UPDATE deals.event_log l SET last_position = n.reached
  FROM (SELECT max(s.last_position) AS reached FROM sliced s) n WHERE n.reached IS NOT NULL;

  SELECT l.last_position INTO reached FROM deals.event_log l;
  RETURN reached;
END $$;
