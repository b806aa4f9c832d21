-- The history of the database, see shared/platform/history/history.ts; null on a standby.
CREATE OR REPLACE FUNCTION "deals"."present_timeline"() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT CASE WHEN NOT pg_is_in_recovery() THEN (pg_control_system()).system_identifier || '.' ||
    left(pg_walfile_name(pg_current_wal_lsn()), 8) END
$$;
