-- The index of the filter "q": parts of names and descriptions. Commands that change neither do not write into it. A
-- role that may not make the extension, and a PostgreSQL without it, do without: the same searches then read all deals.
-- Servers of release 0.3.0 made it in the background: one that ended while it did so left an index that no search uses.
DO $$
DECLARE
  home regnamespace;
BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA deals;
  SELECT e.extnamespace INTO home FROM pg_extension e WHERE e.extname = 'pg_trgm';
  IF EXISTS (SELECT FROM pg_index i WHERE i.indexrelid = to_regclass('deals.deals_by_text') AND NOT i.indisvalid) THEN
    DROP INDEX deals.deals_by_text;
  END IF;
  EXECUTE format('CREATE INDEX IF NOT EXISTS deals_by_text ON deals.deals
    USING gin (name %1$s.gin_trgm_ops, description %1$s.gin_trgm_ops) WHERE deleted_at IS NULL', home);
EXCEPTION WHEN OTHERS THEN
  RAISE WARNING 'searches read all deals, without the index deals_by_text: %', SQLERRM;
END $$;
