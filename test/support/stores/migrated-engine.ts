/**
 * Embedded engines with the tables of both servers, as new. To start an engine costs more than a second of CPU time: so
 * an engine that a test has closed is emptied and lent to the next one.
 */
import type { PGlite } from '@electric-sql/pglite'
import { type EmbeddedEngine, shareEngine } from '../../../shared/platform/embedded/embedded.ts'
import { PreparedStatements } from '../../../shared/platform/embedded/prepared-statements.ts'
import { prepareTestEngine, startTestEngine } from '../processes/stores/embedded-engine.ts'
import { migrateBoth, migrationsMark } from './migrate-both.ts'

interface MigratedEngine {
  readonly engine: PGlite
  readonly statements: PreparedStatements
  /** What `structureOf` said after the migrations. */
  readonly structure: string
  /** SQL that fills the tables, and moves the sequences, as the migrations did. */
  readonly refill: string
}

const idle: MigratedEngine[] = []

/** Each holds some hundred megabytes; few suites need more than one at a time. */
const maxIdle = 2

/** An engine that nobody else uses. Once it is closed, its views fail as those of a stopped engine do. */
export async function openMigratedEngine(): Promise<EmbeddedEngine> {
  const migrated = idle.pop() ?? (await startMigratedEngine())
  const { proxy, revoke } = Proxy.revocable(migrated.engine, { get: memberOf })
  const lent = shareEngine(proxy, migrated.statements)
  return {
    database: lent.database,
    close: async () => {
      revoke()
      await giveBack(migrated)
    },
  }
}

/** The engine has private members: methods want itself, not the proxy. */
function memberOf(engine: PGlite, name: string | symbol): unknown {
  const member: unknown = Reflect.get(engine, name)
  return typeof member === 'function' ? member.bind(engine) : member
}

const migratedName = `migrated-${migrationsMark()}`

async function migrate(empty: PGlite): Promise<void> {
  await empty.exec("set timezone = 'UTC'")
  await migrateBoth(shareEngine(empty).database())
  await empty.exec([newPartition, 'checkpoint'].join(';'))
}

/** Does once, before all tests, what each worker would otherwise do for itself at the same time. */
export const prepareMigratedEngine = (): Promise<void> => prepareTestEngine(migratedName, migrate)

async function startMigratedEngine(): Promise<MigratedEngine> {
  const engine = await startTestEngine(migratedName, migrate)
  const [structure, refill] = [await structureOf(engine), await refillOf(engine)]
  return { engine, statements: new PreparedStatements(), structure, refill }
}

/** Waits for what is under way. An engine whose tables a test has altered is of no further use. */
async function giveBack(migrated: MigratedEngine): Promise<void> {
  const { engine, structure, refill } = migrated
  if (idle.length >= maxIdle) return engine.close()
  if ((await mendedStructureOf(engine).catch(() => '')) !== structure) return engine.close()
  await engine.exec([empty, refill, 'checkpoint'].join(';'))
  idle.push(migrated)
}

/**
 * The log has one partition again. Later months and dropped ones are what else alters tables. The engine begins with
 * a partition that was made the same way.
 */
const newPartition = `do $$ declare part text; begin
  for part in select name from auth.audit_partitions() loop execute format('drop table auth.%I', part); end loop;
  perform auth.create_audit_partition('audit_entries_from_1');
  alter table auth.audit_entries attach partition auth.audit_entries_from_1 for values from (1) to (maxvalue);
end $$`

const onePartition = newPartition.replace(
  'begin',
  `begin if (select array_agg(row(name, first, behind)::text) from auth.audit_partitions())
    = array['(audit_entries_from_1,1,)'] then return; end if;`,
)

/** Empties the tables that hold or held something. To truncate one costs milliseconds, to delete a few rows less. */
const empty = `set session_replication_role = replica; do $$ declare written record; begin
  for written in select format('%I.%I', nspname, relname) as name, pg_relation_size(c.oid) as size
    from pg_class c join pg_namespace n on n.oid = relnamespace
    where nspname !~ '^(pg_|information_schema)' and relkind = 'r' and relname <> 'migrations'
      and pg_relation_size(c.oid) > 0
  loop
    if written.size > 65536 then execute 'truncate ' || written.name || ' cascade';
    else execute 'delete from ' || written.name; end if;
  end loop;
  perform setval(format('%I.%I', schemaname, sequencename), start_value, false)
    from pg_sequences where last_value is not null;
end $$`

async function mendedStructureOf(engine: PGlite): Promise<string> {
  await engine.exec(onePartition)
  return structureOf(engine)
}

/** Equal for equal tables, columns, indexes, constraints, triggers, functions, roles and settings. */
async function structureOf(engine: PGlite): Promise<string> {
  const { rows } = await engine.query<{ structure: string }>(structureQuery)
  return rows[0]?.structure ?? ''
}

const structureQuery = `
  with own as (select oid, nspname from pg_namespace where nspname !~ '^(pg_|information_schema)'),
  class as (select c.oid, c.relkind, c.relacl, own.nspname || '.' || c.relname as name
    from pg_class c join own on own.oid = relnamespace),
  parts(part) as (
    select nspname::text from own
    union all select (name, relkind, relacl)::text from class
    union all select (name, attnum, attname, atttypid, attnotnull, atthasdef)::text
      from pg_attribute join class on class.oid = attrelid where attnum > 0
    union all select (name, adnum, pg_get_expr(adbin, adrelid))::text from pg_attrdef join class on class.oid = adrelid
    union all select (name, pg_get_indexdef(class.oid))::text from class where relkind in ('i', 'I')
    union all select (name, conname, convalidated, pg_get_constraintdef(n.oid))::text
      from pg_constraint n join class on class.oid = conrelid
    union all select (name, tgname, tgenabled)::text
      from pg_trigger join class on class.oid = tgrelid where not tgisinternal
    union all select (p.oid, proname, prosrc)::text from pg_proc p join own on own.oid = pronamespace
    union all select (name, setting)::text from pg_settings where source = 'session'
    union all select rolname::text from pg_roles
  ) select md5(string_agg(part, chr(10) order by part)) as structure from parts`

async function refillOf(engine: PGlite): Promise<string> {
  const { rows: tables } = await engine.query<{ name: string }>(tablesQuery)
  const names = tables.map(({ name }) => name)
  const refills: string[] = []
  for (const name of names) {
    const { rows } = await engine.query<{ rows: string | null }>(`select json_agg(t)::text as rows from ${name} t`)
    const contents = rows[0]?.rows
    if (contents)
      refills.push(
        `insert into ${name} overriding system value select * from json_populate_recordset(null::${name}, '${contents}')`,
      )
  }
  const { rows: used } = await engine.query<{ set: string }>(`
    select format('select setval(%L, %s)', format('%I.%I', schemaname, sequencename), last_value) as set
    from pg_sequences where last_value is not null`)
  refills.push(...used.map(({ set }) => set))
  // Triggers keep the audit log from being emptied, and some tables from being filled by hand.
  return [...refills, 'reset session_replication_role'].join('; ')
}

const tablesQuery = `
  select format('%I.%I', schemaname, tablename) as name from pg_tables
  where schemaname !~ '^(pg_|information_schema)' and tablename <> 'migrations' order by name`
