-- The place of the last event in the log; none without events.
CREATE OR REPLACE FUNCTION "deals"."last_place"()
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
