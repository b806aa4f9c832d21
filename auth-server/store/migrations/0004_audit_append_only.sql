CREATE FUNCTION "auth"."refuse_audit_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'restrict_violation';
END
$$;
--> statement-breakpoint
CREATE TRIGGER "audit_entries_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "auth"."audit_entries" FOR EACH STATEMENT EXECUTE FUNCTION "auth"."refuse_audit_change"();
