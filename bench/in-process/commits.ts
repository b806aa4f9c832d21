import { randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bucketOf } from '../../deal-server/store/events/bucket.ts'
import { commitStatement } from '../../deal-server/store/statements.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { migrateDatabase } from '../../shared/platform/database/migrate.ts'
import { openPostgres } from '../../shared/platform/postgres/postgres.ts'
import { createScratchDatabase } from '../../test/support/stores/scratch-database.ts'
import type { Comparison, Subject } from '../runner/compare.ts'
import type { Bench } from '../servers/bench.ts'
import { repeatedAsync } from './repeated.ts'

/** How many commits a batch has. */
export const batchSizes = [1, 8, 32] as const

const inFlight = 4
const migrations = join(import.meta.dirname, '../../deal-server/store/migrations')
/** The last migration without buckets of deals and commands, and its commit. */
const lastBefore = '0017_event_positions'
const formerStatement = 'select id from deals.commit($1::text, $2::text, $3::text, $4::text)'

/** Compares batches of commits with those of tables that have no buckets. */
export async function compareCommits(bench: Bench, size: number): Promise<Comparison> {
  const folder = formerMigrations()
  const [former, present] = [await openTables(bench, folder), await openTables(bench, migrations)]
  return {
    title: `Batches of ${size} commits, ${inFlight} at a time`,
    unit: 'batches',
    floors: [batches('without buckets', former.database, { size, isFormer: true })],
    subjects: [batches('with buckets', present.database, { size, isFormer: false })],
    close: async () => {
      for (const tables of [former, present]) await tables.close()
      rmSync(folder, { recursive: true })
    },
  }
}

/** A folder with the migrations up to `lastBefore`. */
function formerMigrations(): string {
  const folder = mkdtempSync(join(tmpdir(), 'keyhold-bench-'))
  cpSync(migrations, folder, { recursive: true })
  const file = join(folder, 'meta/_journal.json')
  const journal = JSON.parse(readFileSync(file, 'utf8')) as { entries: { tag: string }[] }
  journal.entries.splice(journal.entries.findIndex(({ tag }) => tag === lastBefore) + 1)
  writeFileSync(file, JSON.stringify(journal))
  return folder
}

/** A thousand deals that are there before. `$1`: a row without its id. */
const fillStatement = `insert into deals.deals
  select r.* from generate_series(1, 1000) n, json_populate_record(null::deals.deals,
    (jsonb_build_object('id', gen_random_uuid(), 'n', n, 'bucket', n) || $1::text::jsonb)::json) r`

async function openTables(bench: Bench, migrationsFolder: string) {
  const scratch = await createScratchDatabase(bench.settings.databaseUrl)
  const database = openPostgres(scratch.url)
  await migrateDatabase(database, { migrationsFolder, schema: 'deals' })
  for (let thousand = 0; thousand < 20; thousand += 1)
    await database.write(fillStatement, [JSON.stringify({ ...newDeal, version: 1, sequence: 1, held: false })])
  // Plans for empty tables would read all rows of the tables that grow.
  await database.write('analyze deals.deals')
  const close = async () => {
    await database.close()
    await scratch.drop()
  }
  return { database, close }
}

interface BatchOptions {
  readonly size: number
  readonly isFormer: boolean
}

/** Each batch creates so many deals, or holds those that a former one has created, and so on. */
function batches(name: string, database: Database, { size, isFormer }: BatchOptions): Subject {
  const open: { readonly ids: readonly string[]; readonly version: number }[] = []
  const commit = async () => {
    const { ids, version } = open.pop() ?? { ids: Array.from({ length: size }, () => randomUUID()), version: 0 }
    const rows = [ids.map((id) => changedRow(id, version)), ids.map((id) => eventRow(id, version + 1)), [], []]
    const texts = rows.map((each) => JSON.stringify(each))
    const written = isFormer
      ? await database.write(formerStatement, texts)
      : await database.write(commitStatement, [bucketOf(ids[0] ?? ''), ...texts])
    if (version < 2) open.push({ ids, version: version + 1 })
    return written.length === size
  }
  return repeatedAsync(name, commit, { atOnce: inFlight, batch: 50 })
}

const at = '2026-01-01T00:00:00.000Z'
const newDeal = {
  name: 'Fleet of twelve vans',
  price: 1_250_000,
  currency: 'EUR',
  owner_id: 'alice',
  status: 'open',
  penalty_total: 0,
  task_count: 0,
  created_at: at,
  created_by: 'alice',
  updated_at: at,
  updated_by: 'alice',
}

function changedRow(id: string, version: number) {
  const changes = { version: version + 1, sequence: version + 1, held: version === 1 }
  const bucket = bucketOf(id)
  const reason = version === 1 ? 'The customer asked for time' : null
  return version === 0
    ? { bucket, id, expected_version: null, changes: { ...newDeal, ...changes, id, bucket } }
    : { bucket, id, expected_version: version, changes: { ...changes, hold_reason: reason } }
}

const eventRow = (id: string, sequence: number) => ({
  id: randomUUID(),
  deal_id: id,
  sequence,
  deal_version: sequence,
  type: 'deal.held',
  currency: 'EUR',
  data: { reason: 'The customer asked for time', code: null },
  occurred_at: at,
  actor: 'alice',
  actor_user_id: randomUUID(),
  use_case: 'HoldDeal',
  style: 'resource',
  correlation_id: randomUUID(),
  bucket: bucketOf(id),
})
