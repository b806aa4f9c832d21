-- When the first event after a place happened.
CREATE OR REPLACE FUNCTION "deals"."happened_after"(of_slice bigint, of_turn bigint, of_position bigint)
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
$$;
