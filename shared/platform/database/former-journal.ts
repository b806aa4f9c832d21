/**
 * Servers before release 0.3.0 must not use a database that a later one has migrated: they would write what the present
 * ones no longer read. They look for their migrations in a journal of another name. This one is renamed, and in its
 * place stands a view that nobody can read. So they refuse to start, with the sentence below.
 */

/** The statement for a schema, before its migrations. It changes nothing where there is no such journal. */
export const replaceFormerJournal = (schema: string): string => `do $$ begin
  if exists (select from pg_tables where schemaname = '${schema}' and tablename = '__drizzle_migrations') then
    alter table "${schema}".__drizzle_migrations rename to migrations;
    create function "${schema}".refuse_former_servers() returns bigint language plpgsql as $refuse$ begin
      raise object_not_in_prerequisite_state using message =
        'release 0.3.0 or a later one has migrated this database: start no server of a release before (docs/upgrade.md)';
    end $refuse$;
    create view "${schema}".__drizzle_migrations as
      select 1 as id, ''::text as hash, "${schema}".refuse_former_servers() as created_at;
  end if;
end $$`
