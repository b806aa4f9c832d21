-- Ends the last partition behind its last entry, and begins the next one there. False when it has none. Gives up at
-- once when others have the table, so that nobody waits behind it.
CREATE OR REPLACE FUNCTION "auth"."cut_audit_entries"() RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '100ms' AS $$
DECLARE
	part text;
	since bigint;
	behind bigint;
	successor text;
BEGIN
	LOCK TABLE ONLY auth.audit_entries IN ACCESS EXCLUSIVE MODE;
	SELECT p.name, p.first INTO STRICT part, since FROM auth.audit_partitions() p WHERE p.behind IS NULL;
	SELECT greatest(h.count, (SELECT max(seq) FROM auth.audit_entries)) + 1 INTO STRICT behind FROM auth.audit_head h;
	IF behind <= since THEN
		RETURN false;
	END IF;
	successor := format('audit_entries_from_%s', behind);
	PERFORM auth.create_audit_partition(successor);
	EXECUTE format('ALTER TABLE auth.audit_entries DETACH PARTITION auth.%I', part);
	EXECUTE format('ALTER TABLE auth.audit_entries ATTACH PARTITION auth.%I FOR VALUES FROM (%s) TO (%s)', part, since, behind);
	EXECUTE format('ALTER TABLE auth.audit_entries ATTACH PARTITION auth.%I FOR VALUES FROM (%s) TO (MAXVALUE)', successor, behind);
	RETURN true;
END
$$;
