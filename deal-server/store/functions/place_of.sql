-- The place of an event in the order of the log, (slice, turn, position); none while no slice has it.
CREATE OR REPLACE FUNCTION "deals"."place_of"(event deals.events)
RETURNS TABLE (slice bigint, turn bigint, "position" bigint, id uuid) LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT 0::bigint, event.xid::text::bigint, event.position, event.id WHERE event.number IS NULL
  UNION ALL
  (SELECT s.slice, CASE WHEN s.by_xid THEN event.xid::text::bigint ELSE 0 END, event.position, event.id
  FROM deals.event_slices s
  WHERE event.number IS NOT NULL AND s.slice >= event.position AND event.bucket = ANY(s.buckets)
    AND s.uptos[array_position(s.buckets, event.bucket)] >= event.number
  ORDER BY s.slice LIMIT 1)
$$;
