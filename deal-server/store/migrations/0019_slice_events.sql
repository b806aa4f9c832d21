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
