import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../../../shared/platform/database/database.ts'
import { openPostgres } from '../../../../shared/platform/postgres/postgres.ts'
import { Unavailable } from '../../../../shared/platform/problems/errors.ts'
import { createScratchDatabase, type ScratchDatabase } from '../../../support/stores/scratch-database.ts'

describe('openPostgres', () => {
  it.each([
    'postgres//user:secret@host/db',
    'postgres://user:secret@one:1,two:x/db',
    'mysql://user:secret@host/db',
    'postgres://user:secret@host/db?sslmode=allow',
    'postgres://user:secret@host/db?sslmode=verify-full&sslmode=disable',
    'postgres://user:secret@host/db?ssl=true',
    'postgres://user:secret@host/db?sslmode=verify-full&sslrootcert=ca.pem',
  ])('refuses what is not an address of PostgreSQL servers, without repeating it: %s', (url) => {
    const open = () => openPostgres(url)
    expect(open).toThrow(TypeError)
    expect(open).not.toThrow(/secret/)
  })
})

const serverUrl = process.env.TEST_DATABASE_URL ?? ''
const title = `a PostgreSQL database${serverUrl === '' ? ' (skipped: TEST_DATABASE_URL is not set)' : ''}`

describe.skipIf(serverUrl === '')(title, () => {
  let scratch: ScratchDatabase
  let database: Database

  beforeAll(async () => {
    scratch = await createScratchDatabase(serverUrl)
    database = openPostgres(scratch.url, { pipelines: 2, sessions: 2, responseTimeoutMs: 1000 })
  })

  afterAll(async () => {
    await database?.close()
    await scratch?.drop()
  })

  it('ends a statement that takes too long, and no other', async () => {
    const slow = database.query('select pg_sleep(30)')
    const others = Array.from({ length: 20 }, () => database.query('select 1 as n'))
    await expect(slow).rejects.toBeInstanceOf(Unavailable)
    expect(await Promise.all(others)).toEqual(Array(20).fill([{ n: 1 }]))
    await expect(database.drizzle.execute(sql`select pg_sleep(30)`)).rejects.toBeInstanceOf(Unavailable)
    await database.ping()
  })

  it('continues a pipeline of slow statements: silence counts, and not the wait', async () => {
    const statements = Array.from({ length: 8 }, () => database.query('select pg_sleep(0.4)'))
    expect(await Promise.all(statements)).toHaveLength(8)
  })

  it('lets exclusive work take longer than any other statement', async () => {
    await database.exclusively('long work', async (drizzle) => {
      await drizzle.execute(sql`select pg_sleep(1.5)`)
      await new Promise((resolve) => setTimeout(resolve, 2200))
      await drizzle.execute(sql`select 1`)
    })
  })

  it('ends a transaction that does nothing for too long, and lets its session go', async () => {
    const idle = database.transaction(async (transaction) => {
      await transaction.execute(sql`select 1`)
      await new Promise((resolve) => setTimeout(resolve, 2300))
      await transaction.execute(sql`select 1`)
    })
    await expect(idle).rejects.toBeInstanceOf(Unavailable)
    await Promise.all([1, 2, 3, 4].map(() => database.transaction((each) => each.execute(sql`select 1`))))
  })

  it('refuses a transaction that finds no free session in time', async () => {
    const busy = [1, 2].map(() =>
      database.transaction(async (transaction) => {
        for (let index = 0; index < 5; index++) await transaction.execute(sql`select pg_sleep(0.3)`)
      }),
    )
    await expect(database.transaction(async () => {})).rejects.toBeInstanceOf(Unavailable)
    await Promise.all(busy)
    await database.transaction(async () => {})
  })

  it('lets a transaction commit while writes wait for its lock', async () => {
    const narrow = openPostgres(scratch.url, { writes: 1, sessions: 1 })
    await narrow.drizzle.execute(sql`create table counters as select 0 as n`)
    const add = 'update counters set n = n + 1 returning n'
    const writes: Promise<{ n: number }[]>[] = []
    await narrow.transaction(async (transaction) => {
      await transaction.execute(sql`update counters set n = 10`)
      for (let index = 0; index < 3; index++) writes.push(narrow.write<{ n: number }>(add))
      await new Promise((resolve) => setTimeout(resolve, 300))
    })
    expect((await Promise.all(writes)).flat().map(({ n }) => n)).toEqual([11, 12, 13])
    await narrow.close()
  })

  it('prepares each statement once per connection, those without parameters too', async () => {
    const text = 'select 42 as prepared_once'
    for (let index = 0; index < 20; index++) await database.query(text)
    const [row] = await database.query<{ count: number }>(
      'select count(*)::int as count from pg_prepared_statements where statement = $1',
      [text],
    )
    expect(row?.count).toBe(1)
  })

  it('sends the statements of one caller on one session, and those of several callers on several', async () => {
    const session = ['select pg_backend_pid() as pid', []] as const
    const together = async () => {
      const rows = await database.queryAll<[{ pid: number }, { pid: number }]>([session, session])
      return new Set(rows.flat().map(({ pid }) => pid))
    }
    const [first, second] = await Promise.all([together(), together()])
    expect([first.size, second.size, new Set([...first, ...second]).size]).toEqual([1, 1, 2])
  })

  it('lets statements and transactions under way finish when it is closed', async () => {
    const closing = openPostgres(scratch.url)
    const statements = Array.from({ length: 300 }, () => closing.query('select 1 as n'))
    const transaction = closing.transaction(async (each) => {
      await each.execute(sql`select pg_sleep(0.2)`)
      await each.execute(sql`select 1`)
      return 'done'
    })
    await new Promise((resolve) => setTimeout(resolve, 50))
    await closing.close()
    expect(await Promise.all(statements)).toHaveLength(300)
    expect(await transaction).toBe('done')
  })

  it('leaves no connection behind', async () => {
    const closing = openPostgres(scratch.url)
    await Promise.all(Array.from({ length: 30 }, () => closing.query('select 1')))
    await closing.transaction(async () => {})
    await closing.exclusively('work', async () => {})
    await closing.close()
    const connections = async () => {
      const [row] = await database.query<{ count: number }>(
        `select count(*)::int as count from pg_stat_activity
         where datname = current_database() and application_name = 'keyhold' and backend_start > $1::timestamptz`,
        [began],
      )
      return row?.count
    }
    const began = new Date(Date.now() - 60_000).toISOString()
    // Those of `database`: two for hot reads, two for the query builder, two for transactions.
    await expect.poll(connections).toBeLessThanOrEqual(6)
  })
})
