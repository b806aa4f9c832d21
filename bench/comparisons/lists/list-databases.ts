/** Two databases full of deals and tasks, one a hundred times as large as the other: lists must cost the same. */
import { join } from 'node:path'
import postgres from 'postgres'
import { dealSearchIndex } from '../../../deal-server/store/search-index.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import { migrateDatabase } from '../../../shared/platform/database/migrate.ts'
import { ensureTrigramIndex } from '../../../shared/platform/database/trigram-index.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { createScratchDatabase } from '../../../test/support/stores/scratch-database.ts'
import type { Settings } from '../../runner/settings.ts'
import { type ReadList, recordStatement } from './recorded-list.ts'

/** One of the databases. */
export interface ListDatabase {
  readonly deals: number
  /** The number of users who own deals and have tasks: the same in both databases. */
  readonly users: number
  readonly url: string
  /** The query plan of `read`, with counts of rows and buffers. */
  plan(read: ReadList): Promise<string>
}

/** Both databases. */
export interface ListDatabases {
  readonly small: ListDatabase
  readonly big: ListDatabase
  close(): Promise<void>
}

/** The name of user number `n`. */
export const userName = (n: number): string => `user${n}`

const migrationsFolder = join(import.meta.dirname, '../../../deal-server/store/migrations')

/** Creates and fills both databases. It takes about half a minute for a million deals. */
export async function openListDatabases({ databaseUrl: url, listedDeals: largest }: Settings): Promise<ListDatabases> {
  const sizes = [Math.min(10_000, Math.ceil(largest / 10)), largest] as const
  const users = Math.ceil(sizes[0] / 100)
  const [small, big] = await Promise.all(sizes.map((deals) => openOne(url, { deals, users })))
  if (!small || !big) throw new TypeError('two sizes make two databases')
  return {
    small: small.database,
    big: big.database,
    close: async () => {
      await Promise.all([small.close(), big.close()])
    },
  }
}

async function openOne(
  serverUrl: string,
  size: { deals: number; users: number },
): Promise<{ database: ListDatabase; close(): Promise<void> }> {
  const scratch = await createScratchDatabase(serverUrl)
  const database = openPostgres(scratch.url)
  await migrateDatabase(database, { migrationsFolder, schema: 'deals' })
  await fill(database, size)
  await ensureTrigramIndex(database, dealSearchIndex)
  await settle(scratch.url)
  await database.close()
  return { database: { ...size, url: scratch.url, plan: (read) => planOf(scratch.url, read) }, close: scratch.drop }
}

/**
 * One of five deals has no completion date, three of five are open. Each has one task. One of ten has a description; of
 * these, each has the word `delivery`, one of a hundred `warranty` and one of ten thousand `harbour`.
 */
const fill = (database: Database, { deals: count, users }: { deals: number; users: number }): Promise<void> =>
  database.exclusively('benchmark', async (drizzle) => {
    await drizzle.execute(`
      insert into deals.deals (id, name, price, currency, description, completion_date, owner_id, status, held, cancel_reason, penalty_total, task_count,
        version, sequence, created_at, created_by, updated_at, updated_by, bucket)
      select d.id, 'Deal ' || n, n * 7919 % 10000000, (array['EUR', 'USD', 'JPY', 'CHF'])[1 + n % 4],
        case when n % 10 = 0 then 'Delivery of order ' || md5(n::text) ||
          case when n % 1000 = 0 then ' with warranty' else '' end ||
          case when n % 100000 = 0 then ' to the harbour' else '' end end,
        case when n % 5 > 0 then date '2025-01-01' + (n * 31 % 1500)::int end, 'user' || n / 5 % ${users},
        (array['open', 'open', 'open', 'completed', 'cancelled'])[1 + n / 7 % 5], false,
        case when n / 7 % 5 = 4 then 'the customer went away' end, 0, 1, 1, 1,
        now() - n * interval '1 minute', 'user0', now() - n * interval '1 minute', 'user0', deals.bucket_of(d.id)
      from (select n, gen_random_uuid() as id from generate_series(1::bigint, ${count}) n offset 0) d`)
    await drizzle.execute(`
      insert into deals.tasks (deal_id, id, ordinal, title, due_date, assignee_id, status, created_at, assigned_at, bucket)
      select id, gen_random_uuid(), 1, 'Call the customer', completion_date, owner_id, 'open', created_at, created_at, bucket from deals.deals`)
  })

/** Outside of transactions. */
async function settle(url: string): Promise<void> {
  const client = postgres(url, { max: 1, onnotice: () => {} })
  try {
    for (const statement of ['vacuum analyze deals.deals', 'vacuum analyze deals.tasks', 'checkpoint']) {
      await client.unsafe(statement)
    }
  } finally {
    await client.end()
  }
}

async function planOf(url: string, read: ReadList): Promise<string> {
  const { text, parameters } = await recordStatement(read)
  const client = postgres(url, { max: 1, onnotice: () => {} })
  try {
    const rows = await client.unsafe(
      `explain (analyze, buffers, costs off, timing off, summary off) ${text}`,
      parameters,
    )
    return rows.map((row) => String(row['QUERY PLAN'])).join('\n')
  } finally {
    await client.end()
  }
}
