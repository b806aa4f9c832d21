ALTER TABLE "auth"."audit_archived_once" RENAME TO "audit_dropped_once";--> statement-breakpoint
ALTER TABLE "auth"."audit_archive" RENAME TO "audit_start";--> statement-breakpoint
ALTER TABLE "auth"."audit_start" RENAME CONSTRAINT "audit_archive_single" TO "audit_start_single";--> statement-breakpoint
ALTER TABLE "auth"."audit_dropped_once" RENAME CONSTRAINT "audit_archived_once_action_target_pk" TO "audit_dropped_once_action_target_pk";--> statement-breakpoint
ALTER TABLE "auth"."audit_start" DROP COLUMN "month";--> statement-breakpoint
-- Makes a table that can become a partition.
CREATE OR REPLACE FUNCTION "auth"."create_audit_partition"("name" text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE auth.%I (LIKE auth.audit_entries INCLUDING ALL)', name);
	EXECUTE format('CREATE TRIGGER audit_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON auth.%I'
		' FOR EACH STATEMENT EXECUTE FUNCTION auth.refuse_audit_change()', name);
	EXECUTE format('CREATE TRIGGER audit_entries_dropped AFTER DELETE ON auth.%I REFERENCING OLD TABLE AS deleted'
		' FOR EACH STATEMENT EXECUTE FUNCTION auth.refuse_audit_deletion()', name);
END
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION "auth"."refuse_audit_deletion"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM deleted WHERE seq > coalesce((SELECT count FROM auth.audit_start), 0)) THEN
		RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'restrict_violation';
	END IF;
	RETURN NULL;
END
$$;
--> statement-breakpoint
DO $$
DECLARE
	one text;
BEGIN
	FOR one IN SELECT c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
		WHERE t.tgname = 'audit_entries_archived' AND c.relnamespace = 'auth'::regnamespace
	LOOP
		EXECUTE format('ALTER TRIGGER audit_entries_archived ON auth.%I RENAME TO audit_entries_dropped', one);
	END LOOP;
END
$$;
