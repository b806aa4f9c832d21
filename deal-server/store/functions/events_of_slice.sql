-- The events of a slice, each with its place, and when they happened.
CREATE OR REPLACE FUNCTION "deals"."events_of_slice"(of_slice bigint)
RETURNS TABLE (slice bigint, turn bigint, "position" bigint, id uuid, occurred_at timestamp(3) with time zone)
LANGUAGE sql STABLE ROWS 50 AS $$
  SELECT s.slice, CASE WHEN s.by_xid THEN e.xid::text::bigint ELSE 0 END, e.position, e.id, e.occurred_at
  FROM deals.event_slices s CROSS JOIN LATERAL unnest(s.buckets, s.counts, s.uptos) AS r(bucket, many, upto)
    CROSS JOIN LATERAL (
      SELECT * FROM deals.events e WHERE e.bucket = r.bucket AND e.number > r.upto - r.many AND e.number <= r.upto
      ORDER BY e.number LIMIT r.many
    ) e
  WHERE s.slice = of_slice
$$;
