-- Puts what was committed since the last slice into new slices of some 1,000 events. Whoever reads the log calls it
-- first, as often as he likes: without new events it only looks. Answers the last slice, and whether events are held
-- back by an older transaction. That is so only beside servers before release 0.3.0, which were seen within the hour:
-- those read in the order of (xid, position), below the oldest running transaction. Then the slices follow the same
-- order, so that clients can go from one server to the other.
CREATE OR REPLACE FUNCTION "deals"."slice_events"(OUT last_slice bigint, OUT is_held_back boolean) LANGUAGE plpgsql AS $$
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

  -- One at a time. Each statement from here on sees what the one before it has committed. The lock writes nothing: of
  -- many servers that were woken together, all but the first find that nothing is left.
  LOCK TABLE deals.event_log IN SHARE UPDATE EXCLUSIVE MODE;
  SELECT * INTO log FROM deals.event_log l;
  IF present = (SELECT t.timeline FROM deals.event_timelines t ORDER BY t.ordinal DESC LIMIT 1)
    AND NOT EXISTS (
      SELECT FROM deals.event_counters c JOIN deals.sliced_counters s ON s.bucket = c.bucket WHERE c.count > s.upto)
  THEN
    last_slice := log.last_slice;
    RETURN;
  END IF;
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
END $$;
