/** The migration that gives deals, tasks and commands their buckets. */
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bucketOf, bucketOfPrincipal } from '../../../deal-server/store/events/bucket.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import { migrateDatabase } from '../../../shared/platform/database/migrate.ts'
import { describeEmptyDatabases, type EmptyDatabase } from '../../support/stores/empty-databases.ts'
import { migrationsUpTo } from '../../support/stores/migrations-up-to.ts'

const schema = 'deals'
const lastBefore = 17
/** The last one before a column was added that rows of before do not have. */
const lastOfBuckets = 19
/** Several pages of each table, and texts of other lengths in bytes than in characters. */
const count = 3_000
const principals = ['alice', 'Zoë', '\u{1f600}', '', 'a'.repeat(300)]

const fillStatements = [
  `insert into deals.deals (id, name, price, currency, owner_id, status, held, penalty_total, task_count, version,
      sequence, created_at, created_by, updated_at, updated_by)
    select gen_random_uuid(), 'deal ' || n, n, 'EUR', 'alice', 'open', false, 0, 1, 1, 1, now(), 'a', now(), 'a'
    from generate_series(1, ${count}) n`,
  `insert into deals.tasks (deal_id, id, ordinal, title, status, created_at)
    select id, gen_random_uuid(), 1, 'call', 'open', now() from deals.deals`,
  `insert into deals.commands (principal_id, command_id, deal_id, use_case, params, fingerprint, outcome, style,
      request_id, requested_by, requested_at, expires_at)
    select p, id::text, id, 'HoldDeal', '{"b": 1,  "a": 2}', 'f', '{}', 'resource', gen_random_uuid(), 'a', now(), now()
    from deals.deals, json_array_elements_text($1::text::json) p where price < 400`,
  'delete from deals.deals where price % 7 = 0',
]

/** What clients and statements rely on, without the parts that the migration adds. */
const structureStatement = `
  select json_agg(part order by part) as structure from (
    select regexp_replace(pg_get_indexdef(indexrelid), ', bucket\\)', ')') as part from pg_index
      where indrelid::regclass::text in ('deals.deals', 'deals.tasks', 'deals.commands')
    union all select conname || ' ' || pg_get_constraintdef(oid) from pg_constraint
      where conrelid::regclass::text in ('deals.deals', 'deals.tasks', 'deals.commands') and contype = 'c'
    union all select oid::regclass || ' ' || array_to_string(reloptions, ',') from pg_class
      where oid = 'deals.deals'::regclass
    union all select attrelid::regclass || ' ' || attname || ' ' || format_type(atttypid, atttypmod) || attnotnull
      from pg_attribute where attrelid::regclass::text in ('deals.deals', 'deals.tasks', 'deals.commands')
        and attnum > 0 and not attisdropped and attname <> 'bucket') parts`

describeEmptyDatabases('buckets after the migration of former tables', (start) => {
  let database: Database
  let opened: EmptyDatabase
  const folder = migrationsUpTo(lastBefore)
  const migrated = migrationsUpTo(lastOfBuckets)

  beforeAll(async () => {
    opened = await start()
    database = opened.open()
  })
  afterAll(async () => {
    await database.close()
    await opened.dispose()
    for (const one of [folder, migrated]) rmSync(one, { recursive: true })
  })

  const read = async (table: string) => {
    const rows = await database.query<{ row: Record<string, unknown> }>(`select to_json(t) as row from ${table} t`)
    const byKey = rows.map(({ row: { bucket, ...row } }) => [JSON.stringify(row), bucket] as const)
    return new Map(byKey.sort(([one], [other]) => (one < other ? -1 : 1)))
  }
  const structure = async () => (await database.query<{ structure: string[] }>(structureStatement))[0]?.structure

  it('are those that servers compute, and all rows and constraints stay', async () => {
    await migrateDatabase(database, { migrationsFolder: folder, schema })
    for (const text of fillStatements)
      await database.write(text, text.includes('$1') ? [JSON.stringify(principals)] : [])
    const tables = ['deals.deals', 'deals.tasks', 'deals.commands']
    const before = await Promise.all(tables.map(read))
    const structureBefore = await structure()
    await migrateDatabase(database, { migrationsFolder: migrated, schema })
    const after = await Promise.all(tables.map(read))
    expect(after.map((rows) => [...rows.keys()])).toEqual(before.map((rows) => [...rows.keys()]))
    expect(after.map(({ size }) => size)).toEqual([count - Math.floor(count / 7), count, 399 * principals.length])
    const bucketIn = (text: string): number => {
      const row = JSON.parse(text)
      return row.principal_id === undefined ? bucketOf(row.deal_id ?? row.id) : bucketOfPrincipal(row.principal_id)
    }
    for (const [text, bucket] of after.flatMap((rows) => [...rows])) expect(bucket).toBe(bucketIn(text))
    expect(await structure()).toEqual(structureBefore)
  })
})
