-- In a transaction of its own: events can be read while the index is made; their writers wait.
-- The log of events becomes a sequence of slices (docs/deal-model.md#event-order).
CREATE UNIQUE INDEX "events_in_buckets" ON "deals"."events" USING btree ("bucket","number") WHERE "deals"."events"."number" is not null;--> statement-breakpoint
CREATE TABLE "deals"."event_log" (
	"one" integer PRIMARY KEY NOT NULL CHECK ("one" = 1),
	"last_slice" bigint NOT NULL,
	"unnumbered_xid" "xid8" NOT NULL,
	"unnumbered_position" bigint NOT NULL,
	"former_seen_at" timestamp(3) with time zone,
	"former_timeline" text
);
--> statement-breakpoint
CREATE TABLE "deals"."event_slices" (
	"slice" bigint PRIMARY KEY NOT NULL,
	"by_xid" boolean NOT NULL,
	"total" integer NOT NULL,
	"buckets" smallint[] NOT NULL,
	"counts" integer[] NOT NULL,
	"uptos" bigint[] NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deals"."event_timelines" (
	"ordinal" integer PRIMARY KEY NOT NULL,
	"timeline" text NOT NULL,
	"first_slice" bigint NOT NULL
);
--> statement-breakpoint
-- With so much room on its pages, no update needs a new entry in the index.
CREATE TABLE "deals"."sliced_counters" (
	"bucket" smallint PRIMARY KEY NOT NULL,
	"upto" bigint NOT NULL
) WITH (fillfactor = 20);
--> statement-breakpoint
INSERT INTO "deals"."sliced_counters" SELECT bucket, 0 FROM generate_series(0, 1023) bucket;--> statement-breakpoint
-- The history of the database, see shared/platform/history/history.ts; null on a standby.
CREATE FUNCTION "deals"."present_timeline"() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT CASE WHEN NOT pg_is_in_recovery() THEN (pg_control_system()).system_identifier || '.' ||
    left(pg_walfile_name(pg_current_wal_lsn()), 8) END
$$;--> statement-breakpoint
INSERT INTO "deals"."event_timelines" VALUES (1, deals.present_timeline(), 1);--> statement-breakpoint
-- With events there are servers of release 0.1.0, most probably.
INSERT INTO "deals"."event_log"
SELECT 1, 0, coalesce(max(e.xid::text), '0')::xid8, coalesce(max(e.position), 0),
  CASE WHEN count(*) > 0 THEN now() END, CASE WHEN count(*) > 0 THEN deals.present_timeline() END
FROM (SELECT xid, position FROM deals.events WHERE number IS NULL ORDER BY xid DESC, position DESC LIMIT 1) e;--> statement-breakpoint
-- As before, and notes that there is a server of release 0.1.0.
CREATE OR REPLACE FUNCTION "deals"."number_event"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE deals.event_counters IN EXCLUSIVE MODE;
  UPDATE deals.event_log SET former_seen_at = clock_timestamp(), former_timeline = deals.present_timeline()
  WHERE former_seen_at IS NULL OR former_seen_at < clock_timestamp() - interval '10 minutes'
    OR former_timeline <> deals.present_timeline();
  new.bucket := deals.bucket_of(new.deal_id);
  UPDATE deals.event_counters c SET count = c.count + 1 WHERE c.bucket = new.bucket RETURNING c.count INTO new.number;
  new.position := nextval('deals.events_position_seq');
  RETURN new;
END $$;--> statement-breakpoint
-- Puts what was committed since the last slice into new slices of some 1,000 events. Whoever reads the log calls it
-- first, as often as he likes: without new events it only looks. Answers the last slice, and whether events are held
-- back by an older transaction. That is so only beside servers of release 0.1.0, which were seen within the hour:
-- those read in the order of (xid, position), below the oldest running transaction. Then the slices follow the same
-- order, so that clients can go from one server to the other.
CREATE FUNCTION "deals"."slice_events"(OUT last_slice bigint, OUT is_held_back boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  present text := deals.present_timeline();
  log deals.event_log;
  beside_former boolean;
  horizon bigint;
  lower bigint;
BEGIN
  is_held_back := false;
  SELECT l.last_slice INTO last_slice FROM deals.event_log l
  WHERE present = (SELECT t.timeline FROM deals.event_timelines t ORDER BY t.ordinal DESC LIMIT 1)
    AND NOT EXISTS (
      SELECT FROM deals.event_counters c JOIN deals.sliced_counters s ON s.bucket = c.bucket WHERE c.count > s.upto);
  IF FOUND THEN RETURN; END IF;

  -- One at a time. Each statement from here on sees what the one before it has committed.
  SELECT * INTO log FROM deals.event_log l FOR UPDATE;
  INSERT INTO deals.event_timelines
  SELECT t.ordinal + 1, present, log.last_slice + 1
  FROM (SELECT * FROM deals.event_timelines ORDER BY ordinal DESC LIMIT 1) t WHERE t.timeline <> present;

  beside_former := coalesce(
    log.former_seen_at > clock_timestamp() - interval '1 hour' AND log.former_timeline = present, false);
  IF beside_former THEN
    horizon := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
    LOOP
      -- A slice takes the first events of a bucket: one that stands behind a higher transaction waits with it.
      SELECT min(w.xid) INTO lower FROM (
        SELECT e.xid::text::bigint AS xid,
          max(e.xid::text::bigint) OVER (PARTITION BY e.bucket ORDER BY e.number) AS highest
        FROM deals.event_counters c JOIN deals.sliced_counters s ON s.bucket = c.bucket AND c.count > s.upto
          JOIN deals.events e ON e.bucket = c.bucket AND e.number > s.upto AND e.number <= c.count
      ) w WHERE w.xid < horizon AND w.highest >= horizon;
      EXIT WHEN lower IS NULL;
      horizon := lower;
    END LOOP;
  END IF;

  WITH ahead AS MATERIALIZED (
    SELECT c.bucket, s.upto AS before, c.count AS upto
    FROM deals.event_counters c JOIN deals.sliced_counters s ON s.bucket = c.bucket WHERE c.count > s.upto
  ),
  waiting AS MATERIALIZED (
    SELECT e.bucket, e.number, e.position, e.turn, max(e.turn) OVER (PARTITION BY e.bucket ORDER BY e.number) AS highest
    FROM ahead a CROSS JOIN LATERAL (
      SELECT e.bucket, e.number, e.position, CASE WHEN beside_former THEN e.xid::text::bigint ELSE e.position END AS turn
      FROM deals.events e WHERE e.bucket = a.bucket AND e.number > a.before AND e.number <= a.upto
      ORDER BY e.number LIMIT a.upto - a.before
    ) e
  ),
  taken AS MATERIALIZED (
    SELECT w.*, rank() OVER (ORDER BY w.turn) AS nth FROM waiting w WHERE NOT beside_former OR w.highest < horizon
  ),
  -- Where a slice may begin: it has no event that stands behind one of a later slice in its bucket.
  inverted AS MATERIALIZED (SELECT t.turn, t.highest FROM taken t WHERE t.highest > t.turn),
  begins AS (
    SELECT b.turn FROM (SELECT min(t.turn) AS turn FROM taken t GROUP BY (t.nth - 1) / 1000) b
    WHERE NOT EXISTS (SELECT FROM inverted i WHERE i.turn < b.turn AND i.highest >= b.turn)
  ),
  parts AS MATERIALIZED (
    SELECT p.part, p.bucket, count(*)::int AS many, max(p.number) AS upto, max(p.position) AS top
    FROM (SELECT t.*, width_bucket(t.turn, ARRAY(SELECT b.turn FROM begins b ORDER BY b.turn)) AS part FROM taken t) p
    GROUP BY p.part, p.bucket
  ),
  inserted AS (
    INSERT INTO deals.event_slices (slice, by_xid, total, buckets, counts, uptos)
    SELECT p.part + greatest(log.last_slice, max(p.top - p.part) OVER (ORDER BY p.part)), beside_former, p.total,
      p.buckets, p.counts, p.uptos
    FROM (
      SELECT part, max(top) AS top, sum(many) AS total, array_agg(bucket ORDER BY bucket) AS buckets,
        array_agg(many ORDER BY bucket) AS counts, array_agg(upto ORDER BY bucket) AS uptos
      FROM parts GROUP BY part
    ) p
    RETURNING slice
  ),
  noted AS (
    UPDATE deals.sliced_counters s SET upto = n.upto
    FROM (
      SELECT a.bucket, CASE WHEN beside_former THEN max(p.upto) ELSE a.upto END AS upto
      FROM ahead a LEFT JOIN parts p ON p.bucket = a.bucket GROUP BY a.bucket, a.upto
    ) n WHERE s.bucket = n.bucket AND n.upto IS NOT NULL
  )
  UPDATE deals.event_log l SET last_slice = (SELECT max(i.slice) FROM inserted i)
  WHERE EXISTS (SELECT FROM inserted);

  SELECT l.last_slice INTO last_slice FROM deals.event_log l;
  is_held_back := beside_former AND EXISTS (
    SELECT FROM deals.event_counters c JOIN deals.sliced_counters s ON s.bucket = c.bucket WHERE c.count > s.upto);
END $$;--> statement-breakpoint
-- The place of an event in the order of the log, (slice, turn, position); none while no slice has it.
CREATE FUNCTION "deals"."place_of"(event deals.events)
RETURNS TABLE (slice bigint, turn bigint, "position" bigint, id uuid) LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT 0::bigint, event.xid::text::bigint, event.position, event.id WHERE event.number IS NULL
  UNION ALL
  (SELECT s.slice, CASE WHEN s.by_xid THEN event.xid::text::bigint ELSE 0 END, event.position, event.id
  FROM deals.event_slices s
  WHERE event.number IS NOT NULL AND s.slice >= event.position AND event.bucket = ANY(s.buckets)
    AND s.uptos[array_position(s.buckets, event.bucket)] >= event.number
  ORDER BY s.slice LIMIT 1)
$$;--> statement-breakpoint
-- The events of a slice, each with its place, and when they happened.
CREATE FUNCTION "deals"."events_of_slice"(of_slice bigint)
RETURNS TABLE (slice bigint, turn bigint, "position" bigint, id uuid, occurred_at timestamp(3) with time zone)
LANGUAGE sql STABLE ROWS 50 AS $$
  SELECT s.slice, CASE WHEN s.by_xid THEN e.xid::text::bigint ELSE 0 END, e.position, e.id, e.occurred_at
  FROM deals.event_slices s CROSS JOIN LATERAL unnest(s.buckets, s.counts, s.uptos) AS r(bucket, many, upto)
    CROSS JOIN LATERAL (
      SELECT * FROM deals.events e WHERE e.bucket = r.bucket AND e.number > r.upto - r.many AND e.number <= r.upto
      ORDER BY e.number LIMIT r.many
    ) e
  WHERE s.slice = of_slice
$$;--> statement-breakpoint
-- When the first event after a place happened.
CREATE FUNCTION "deals"."happened_after"(of_slice bigint, of_turn bigint, of_position bigint)
RETURNS timestamp(3) with time zone LANGUAGE sql STABLE AS $$
  SELECT f.occurred_at FROM (
    (SELECT e.occurred_at, 0::bigint AS slice, e.xid::text::bigint AS turn, e.position FROM deals.events e
    WHERE of_slice = 0 AND e.number IS NULL AND (e.xid, e.position) > (of_turn::text::xid8, of_position)
      AND (e.xid, e.position) <= (
        (SELECT unnumbered_xid FROM deals.event_log), (SELECT unnumbered_position FROM deals.event_log))
    ORDER BY e.xid, e.position LIMIT 1)
    UNION ALL
    (SELECT x.occurred_at, x.slice, x.turn, x.position
    FROM (SELECT slice FROM deals.event_slices WHERE slice >= of_slice ORDER BY slice LIMIT 3) s,
      LATERAL deals.events_of_slice(s.slice) x
    WHERE (x.slice, x.turn, x.position) > (of_slice, of_turn, of_position))
  ) f ORDER BY f.slice, f.turn, f.position LIMIT 1
$$;--> statement-breakpoint
-- The place of the last event in the log; none without events.
CREATE FUNCTION "deals"."last_place"()
RETURNS TABLE (slice bigint, turn bigint, "position" bigint, id uuid) LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT p.* FROM (
    (SELECT x.slice, x.turn, x.position, x.id
    FROM deals.event_slices s CROSS JOIN LATERAL (
      SELECT * FROM deals.events_of_slice(s.slice) e ORDER BY e.turn DESC, e.position DESC LIMIT 1
    ) x
    ORDER BY s.slice DESC LIMIT 1)
    UNION ALL
    (SELECT 0, e.xid::text::bigint, e.position, e.id FROM deals.events e
    WHERE e.number IS NULL AND (e.xid, e.position) <= (
      (SELECT unnumbered_xid FROM deals.event_log), (SELECT unnumbered_position FROM deals.event_log))
    ORDER BY e.xid DESC, e.position DESC LIMIT 1)
  ) p ORDER BY p.slice DESC LIMIT 1
$$;
