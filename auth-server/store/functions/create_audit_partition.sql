-- Makes a table that can become a partition.
CREATE OR REPLACE FUNCTION "auth"."create_audit_partition"("name" text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE auth.%I (LIKE auth.audit_entries INCLUDING ALL)', name);
	EXECUTE format('CREATE TRIGGER audit_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON auth.%I'
		' FOR EACH STATEMENT EXECUTE FUNCTION auth.refuse_audit_change()', name);
	EXECUTE format('CREATE TRIGGER audit_entries_archived AFTER DELETE ON auth.%I REFERENCING OLD TABLE AS deleted'
		' FOR EACH STATEMENT EXECUTE FUNCTION auth.refuse_audit_deletion()', name);
END
$$;
