-- In a transaction of its own
-- The table becomes the first partition of one of the same name, by numbers. Its rows stay where they are.
LOCK TABLE "auth"."audit_entries" IN ACCESS EXCLUSIVE MODE;
--> statement-breakpoint
ALTER TABLE "auth"."audit_entries" RENAME TO "audit_entries_from_1";
--> statement-breakpoint
DO $$
DECLARE
	one text;
BEGIN
	FOR one IN SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
		WHERE x.indrelid = 'auth.audit_entries_from_1'::regclass
	LOOP
		EXECUTE format('ALTER INDEX auth.%I RENAME TO %I', one,
			replace(one, 'audit_entries', 'audit_entries_from_1'));
	END LOOP;
END
$$;
--> statement-breakpoint
CREATE TABLE "auth"."audit_entries" (LIKE "auth"."audit_entries_from_1" INCLUDING DEFAULTS INCLUDING CONSTRAINTS)
	PARTITION BY RANGE ("seq");
--> statement-breakpoint
ALTER TABLE "auth"."audit_entries" ADD CONSTRAINT "audit_entries_pkey" PRIMARY KEY ("seq");
--> statement-breakpoint
CREATE INDEX "audit_entries_actor" ON "auth"."audit_entries" USING btree (lower("actor" collate "C"),"seq") WHERE "auth"."audit_entries"."actor" is not null;
--> statement-breakpoint
CREATE INDEX "audit_entries_target" ON "auth"."audit_entries" USING btree (lower("target" collate "C"),"seq") WHERE "auth"."audit_entries"."target" is not null;
--> statement-breakpoint
CREATE INDEX "audit_entries_action" ON "auth"."audit_entries" USING btree ("action" collate "C","seq");
--> statement-breakpoint
CREATE INDEX "audit_entries_refused" ON "auth"."audit_entries" USING btree ("outcome","seq") WHERE "auth"."audit_entries"."outcome" <> 'succeeded';
--> statement-breakpoint
CREATE INDEX "audit_entries_at" ON "auth"."audit_entries" USING btree ("at","seq");
--> statement-breakpoint
CREATE INDEX "audit_entries_writer" ON "auth"."audit_entries" USING btree ("writer","writer_last") WHERE "auth"."audit_entries"."writer" is not null;
--> statement-breakpoint
CREATE TRIGGER "audit_entries_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "auth"."audit_entries" FOR EACH STATEMENT EXECUTE FUNCTION "auth"."refuse_audit_change"();
--> statement-breakpoint
CREATE TRIGGER "audit_entries_archived" AFTER DELETE ON "auth"."audit_entries" REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION "auth"."refuse_audit_deletion"();
--> statement-breakpoint
-- Who was allowed to read the table still is.
DO $$
DECLARE
	one record;
BEGIN
	FOR one IN SELECT a.privilege_type, CASE a.grantee WHEN 0 THEN 'public' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS who
		FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = 'auth.audit_entries_from_1'::regclass AND a.grantee <> c.relowner
	LOOP
		EXECUTE format('GRANT %s ON auth.audit_entries TO %s', one.privilege_type, one.who);
	END LOOP;
END
$$;
--> statement-breakpoint
ALTER TABLE "auth"."audit_entries" ATTACH PARTITION "auth"."audit_entries_from_1" FOR VALUES FROM (1) TO (MAXVALUE);
--> statement-breakpoint
-- The partitions, in order: the number of the first entry that can be in each, and the one behind the last; null for the
-- last partition.
CREATE FUNCTION "auth"."audit_partitions"() RETURNS TABLE ("name" text, "first" bigint, "behind" bigint) LANGUAGE sql STABLE AS $$
	SELECT c.relname::text, b.first::bigint, b.behind::bigint
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid,
		LATERAL (SELECT substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \(''(\d+)''\)') AS first,
			substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''(\d+)''\)') AS behind) b
	WHERE i.inhparent = 'auth.audit_entries'::regclass ORDER BY 2
$$;
--> statement-breakpoint
-- Makes a table that can become a partition.
CREATE FUNCTION "auth"."create_audit_partition"("name" text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE auth.%I (LIKE auth.audit_entries INCLUDING ALL)', name);
	EXECUTE format('CREATE TRIGGER audit_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON auth.%I'
		' FOR EACH STATEMENT EXECUTE FUNCTION auth.refuse_audit_change()', name);
	EXECUTE format('CREATE TRIGGER audit_entries_archived AFTER DELETE ON auth.%I REFERENCING OLD TABLE AS deleted'
		' FOR EACH STATEMENT EXECUTE FUNCTION auth.refuse_audit_deletion()', name);
END
$$;
--> statement-breakpoint
-- Ends the last partition behind its last entry, and begins the next one there. False when it has none. Gives up at
-- once when others have the table, so that nobody waits behind it.
CREATE FUNCTION "auth"."cut_audit_entries"() RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '100ms' AS $$
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
