CREATE OR REPLACE FUNCTION "auth"."refuse_audit_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	-- The trigger below decides about deletions, by the deleted rows.
	IF TG_OP = 'DELETE' THEN
		RETURN NULL;
	END IF;
	RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'restrict_violation';
END
$$;
