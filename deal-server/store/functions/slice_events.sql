-- Puts what was committed since the last look into slices, one for each bucket, and answers the last position of the
-- log. Whoever reads the log calls it first, as often as he likes: without new events it only looks. Buckets come by
-- the time of their first new event.
CREATE OR REPLACE FUNCTION "deals"."slice_events"() RETURNS bigint LANGUAGE plpgsql AS $$
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
