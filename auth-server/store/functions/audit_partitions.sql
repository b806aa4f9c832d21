-- The partitions, in order: the number of the first entry that can be in each, and the one behind the last; null for the
-- last partition.
CREATE OR REPLACE FUNCTION "auth"."audit_partitions"() RETURNS TABLE ("name" text, "first" bigint, "behind" bigint) LANGUAGE sql STABLE AS $$
	SELECT c.relname::text, b.first::bigint, b.behind::bigint
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid,
		LATERAL (SELECT substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \(''(\d+)''\)') AS first,
			substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''(\d+)''\)') AS behind) b
	WHERE i.inhparent = 'auth.audit_entries'::regclass ORDER BY 2
$$;
