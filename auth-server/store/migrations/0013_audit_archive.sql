CREATE TABLE "auth"."audit_archive" (
	"id" smallint PRIMARY KEY DEFAULT 1 NOT NULL,
	"count" bigint DEFAULT 0 NOT NULL,
	"mac" text DEFAULT '' NOT NULL,
	"month" text DEFAULT '' NOT NULL,
	"key_id" text DEFAULT '' NOT NULL,
	"seal" text DEFAULT '' NOT NULL,
	CONSTRAINT "audit_archive_single" CHECK ("auth"."audit_archive"."id" = 1)
);
--> statement-breakpoint
CREATE TABLE "auth"."audit_archived_once" (
	"action" text NOT NULL,
	"target" text NOT NULL,
	CONSTRAINT "audit_archived_once_action_target_pk" PRIMARY KEY("action","target")
);

--> statement-breakpoint
INSERT INTO "auth"."audit_archive" DEFAULT VALUES;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION "auth"."refuse_audit_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	-- The trigger below decides about deletions, by the deleted rows.
	IF TG_OP = 'DELETE' THEN
		RETURN NULL;
	END IF;
	RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'restrict_violation';
END
$$;
--> statement-breakpoint
CREATE FUNCTION "auth"."refuse_audit_deletion"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM deleted WHERE seq > coalesce((SELECT count FROM auth.audit_archive), 0)) THEN
		RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'restrict_violation';
	END IF;
	RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "audit_entries_archived" AFTER DELETE ON "auth"."audit_entries" REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION "auth"."refuse_audit_deletion"();
