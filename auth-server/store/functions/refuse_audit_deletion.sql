CREATE OR REPLACE FUNCTION "auth"."refuse_audit_deletion"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM deleted WHERE seq > coalesce((SELECT count FROM auth.audit_archive), 0)) THEN
		RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'restrict_violation';
	END IF;
	RETURN NULL;
END
$$;
