-- The index of the filter "q": parts of names and descriptions. Commands that change neither do not write into it. A
-- role that may not make the extension, and a PostgreSQL without it, do without: the same searches then read all deals.
-- Servers of release 0.3.0 made it in the background.
DO $$
DECLARE
  home regnamespace;
BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA deals;
  SELECT e.extnamespace INTO home FROM pg_extension e WHERE e.extname = 'pg_trgm';
  EXECUTE format('CREATE INDEX IF NOT EXISTS deals_by_text ON deals.deals
    USING gin (name %1$s.gin_trgm_ops, description %1$s.gin_trgm_ops) WHERE deleted_at IS NULL', home);
EXCEPTION WHEN OTHERS THEN
  RAISE WARNING 'searches read all deals, without the index deals_by_text: %', SQLERRM;
END $$;
