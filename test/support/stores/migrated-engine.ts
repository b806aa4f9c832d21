/**
 * Embedded engines with the tables of both servers, as new. To start an engine costs a second of CPU time and its
 * migrations half of one: so an engine that a test has closed is emptied and lent to the next one.
 */
import type { PGlite } from '@electric-sql/pglite'
import { dealSearchIndex } from '../../../deal-server/store/search-index.ts'
import { ensureTrigramIndex } from '../../../shared/platform/database/trigram-index.ts'
import { type EmbeddedEngine, shareEngine } from '../../../shared/platform/embedded/embedded.ts'
import { startTestEngine } from '../processes/stores/embedded-engine.ts'
import { migrateBoth } from './migrate-both.ts'

interface MigratedEngine {
  readonly engine: PGlite
  /** What `structureOf` said after the migrations. */
  readonly structure: string
  /** SQL that brings all tables back to where the migrations left them. */
  readonly reset: string
}

const idle: MigratedEngine[] = []

/** Each holds some hundred megabytes; few suites need more than one at a time. */
const maxIdle = 2

/** An engine that nobody else uses. Once it is closed, its views fail as those of a stopped engine do. */
export async function openMigratedEngine(): Promise<EmbeddedEngine> {
  const migrated = idle.pop() ?? (await startMigratedEngine())
  const { proxy, revoke } = Proxy.revocable(migrated.engine, { get: memberOf })
  const lent = shareEngine(proxy)
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

async function startMigratedEngine(): Promise<MigratedEngine> {
  const engine = await startTestEngine()
  const database = shareEngine(engine).database()
  await migrateBoth(database)
  // As the first deal server would.
  await ensureTrigramIndex(database, dealSearchIndex)
  return { engine, structure: await structureOf(engine), reset: await resetOf(engine) }
}

/** Waits for what is under way. An engine whose tables a test has altered is of no further use. */
async function giveBack(migrated: MigratedEngine): Promise<void> {
  const { engine, structure, reset } = migrated
  if (idle.length >= maxIdle || (await structureOf(engine)) !== structure) return engine.close()
  await engine.exec(reset)
  idle.push(migrated)
}

/** Equal for equal tables, columns, constraints, triggers, functions, roles and settings. */
async function structureOf(engine: PGlite): Promise<string> {
  const { rows } = await engine.query<{ structure: string }>(structureQuery)
  return rows[0]?.structure ?? ''
}

const structureQuery = `
  with own as (select oid, nspname from pg_namespace where nspname !~ '^(pg_|information_schema)'), parts(part) as (
    select own::text from own
    union all select (c.oid, relname, relkind, relacl)::text from pg_class c join own on own.oid = relnamespace
    union all select (attrelid, attnum, attname, atttypid, attnotnull, atthasdef)::text
      from pg_attribute join pg_class c on c.oid = attrelid join own on own.oid = relnamespace where attnum > 0
    union all select (d.oid, pg_get_expr(adbin, adrelid))::text
      from pg_attrdef d join pg_class c on c.oid = adrelid join own on own.oid = relnamespace
    union all select (n.oid, conname, convalidated)::text from pg_constraint n join own on own.oid = connamespace
    union all select (t.oid, tgname, tgenabled)::text from pg_trigger t where not tgisinternal
    union all select (p.oid, proname, prosrc)::text from pg_proc p join own on own.oid = pronamespace
    union all select (name, setting)::text from pg_settings where source = 'session'
    union all select rolname::text from pg_roles
  ) select md5(string_agg(part, chr(10) order by part)) as structure from parts`

async function resetOf(engine: PGlite): Promise<string> {
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
  // Triggers keep the audit log from being emptied.
  const withoutTriggers = ['set session_replication_role = replica', `truncate ${names.join(', ')} restart identity`]
  return [...withoutTriggers, ...refills, 'reset session_replication_role', 'checkpoint'].join('; ')
}

const tablesQuery = `
  select format('%I.%I', schemaname, tablename) as name from pg_tables
  where schemaname !~ '^(pg_|information_schema)' and tablename <> 'migrations' order by name`
