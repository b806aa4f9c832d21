import { Command } from 'commander'
import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { addStorageCommand } from '../../../auth-server/cli/commands/storage.ts'
import { dueOf, measureStorage } from '../../../auth-server/cli/offline/measure-storage.ts'
import { bytesText } from '../../../auth-server/cli/terminal/bytes-text.ts'
import { findRecent, measureTable } from '../../../shared/platform/database/measure-table.ts'
import type { Report } from '../../../shared/platform/terminal/report.ts'
import { campaign } from '../../support/campaign.ts'
import { migrateBoth } from '../../support/stores/migrate-both.ts'
import { describeOnDatabases, type TestDatabase } from '../support/auth-database.ts'
import { createTestClock } from '../support/test-clock.ts'

const day = 86_400_000
const now = Date.UTC(2026, 5, 1)
const clock = createTestClock(now)
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)

describeOnDatabases('what is stored', (open) => {
  let opened: TestDatabase

  beforeAll(async () => {
    opened = await open()
    await migrateBoth(opened.database)
  })
  afterEach(() => opened.database.write('truncate deals.events'))
  afterAll(() => opened.dispose())

  const data = () => ({ auth: opened.database, deals: opened.database })
  const kindsOf = async (options = { now, days: 30 }) => (await measureStorage(data(), options)).kinds
  const kindOf = async (name: string) => (await kindsOf()).find((kind) => kind.name === name)

  /** One event every so many seconds, the last one now. Numbers have gaps. */
  const addEvents = (count: number, seconds: number) =>
    opened.database.write(
      `insert into deals.events (bucket, number, id, deal_id, sequence, deal_version, type, data, currency, occurred_at, actor,
          use_case, style, correlation_id)
        select 1, 7 + n * 3, gen_random_uuid(), gen_random_uuid(), 1, 1, 'deal.created', '{}', 'EUR',
          $1::text::timestamptz - make_interval(secs => $3::text::float * ($2::text::int - n)), 'a', 'u', 's',
          gen_random_uuid()
        from generate_series(1, $2::text::int) n`,
      [new Date(now).toISOString(), count, seconds],
    )

  it('is counted with its bytes and its growth, and with what removes it', async () => {
    await addEvents(600, 7200)
    expect(await kindOf('events')).toMatchObject({
      table: 'deals.events',
      rows: 600,
      rowsPerDay: 12,
      removal: expect.stringContaining('ops events archive'),
    })
    const { tableBytes = 0, indexBytes = 0, bytesPerRow, bytesPerDay } = (await kindOf('events')) ?? {}
    expect(tableBytes).toBeGreaterThan(600 * 100)
    expect(bytesPerRow).toBe(Math.round((tableBytes + indexBytes) / 600))
    expect(bytesPerDay).toBe(Math.round(((361 / 30) * (tableBytes + indexBytes)) / 600))
    expect(await kindOf('users')).toMatchObject({ rows: 0, bytesPerRow: null, rowsPerDay: 0, bytesPerDay: 0 })
    expect(await kindOf('names of users')).toMatchObject({ rowsPerDay: null })
  })

  it('grows, when it is younger than the days that are asked for, by what came in its own days', async () => {
    await addEvents(240, 3600)
    expect(await kindOf('events')).toMatchObject({ rows: 240, rowsPerDay: 24 })
  })

  it('grows, when it is younger than a day, by what there is', async () => {
    await addEvents(10, 60)
    expect(await kindOf('events')).toMatchObject({ rows: 10, rowsPerDay: 10 })
  })

  it('is estimated in a large table, of which few pages are read', async () => {
    // One row a minute, the last one now. Numbers have gaps.
    await opened.database.write('create table deals.large (number bigint primary key, at timestamptz, more text)')
    await opened.database.write(
      `insert into deals.large select 7 + n * 3, $1::text::timestamptz - make_interval(mins => 20000 - n), repeat('x', 90)
        from generate_series(1, 20000) n`,
      [new Date(now).toISOString()],
    )
    const events = { name: 'rows', table: 'deals.large', madeAt: sql`at`, kept: true, removal: '' }
    // A third of the pages: chance alone takes the estimate past no bound below.
    const options = { now, days: 5, samplePages: 120 }
    const read: number[] = []
    const database = {
      query: opened.database.query.bind(opened.database),
      readWithin: async (...statement: Parameters<typeof opened.database.readWithin>) => {
        const rows = await opened.database.readWithin<{ sample?: { rows: number } }>(...statement)
        read.push(rows[0]?.sample?.rows ?? 0)
        return rows as never
      },
    }
    const sampled = await measureTable(database, events, options)
    expect(Math.max(...read)).toBeLessThan(10_000)
    expect(sampled?.rows).toBeGreaterThan(14_000)
    expect(sampled?.rows).toBeLessThan(28_000)
    expect(sampled?.rowsPerDay).toBeGreaterThan(300)
    expect(sampled?.rowsPerDay).toBeLessThan(4000)
    // By its numbers, of which each row takes three here, it is found to the row.
    const found = await measureTable(opened.database, { ...events, number: sql`number` }, options)
    expect(found?.rowsPerDay).toBe(Math.round((5 * 1440 * 3 + 3) / 5))
    await opened.database.write('drop table deals.large')
  })

  it('is found by numbers as by counting, whatever the times are', async () => {
    const { database } = opened
    const steps = fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 0, max: 3 * day })), {
      maxLength: 30,
    })
    const runs = { numRuns: campaign({ short: 8, long: 300 }) }
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 40 }), async (gaps, days) => {
        const rows = gaps.map((_, index) => {
          const [ids, times] = [
            gaps.slice(0, index + 1).map(([step]) => step),
            gaps.slice(0, index + 1).map(([, ms]) => ms),
          ]
          return { id: sum(ids), at: new Date(now - 60 * day + sum(times)).toISOString() }
        })
        const values = `(select * from json_to_recordset('${JSON.stringify(rows)}') as r(id bigint, at timestamptz)) as t`
        const recent = rows.filter((row) => Date.parse(row.at) >= now - days * day)
        const numbers = recent.length === 0 ? 0 : (rows.at(-1)?.id ?? 0) + 1 - (recent[0]?.id ?? 0)
        const found = await findRecent(
          database,
          { table: sql.raw(values), madeAt: sql`at`, number: sql`id` },
          now - days * day,
        )
        expect(found.rows).toBe(numbers)
      }),
      runs,
    )
  })

  it('is called overdue an hour after housekeeping should have removed it', async () => {
    const { database } = opened
    const add = (count: number, minutesAgo: number) =>
      database.write(
        `insert into auth.digest_counts (nonce, highest, used, expires_at)
          select $3::text || n, 1, 0, $1::text::timestamptz from generate_series(1, $2::text::int) n`,
        [new Date(now - minutesAgo * 60_000).toISOString(), count, `${minutesAgo}-`],
      )
    await add(5, 59)
    expect((await measureStorage(data(), { now, days: 30 })).due).toEqual([])
    await add(7, 61)
    const { due } = await measureStorage(data(), { now, days: 30 })
    expect(due.join()).toContain('Of the Digest nonces (auth), 7 should have been removed')
    await database.write('truncate auth.digest_counts')
  })

  it('has every table of both servers, also those that are new', async () => {
    const { database } = opened
    await database.write('create table deals.from_a_later_release (id bigint)')
    const tables = (await kindsOf()).map(({ table }) => table)
    const all = await database.query<{ name: string }>(
      `select schemaname || '.' || tablename as name from pg_tables
        where schemaname in ('auth', 'deals') and tablename not like '%migrations'
          and not (select relispartition from pg_class where oid = format('%I.%I', schemaname, tablename)::regclass)`,
    )
    expect(tables.toSorted()).toEqual(all.map(({ name }) => name).toSorted())
    await database.write('drop table deals.from_a_later_release')
  })

  it('is printed by the command, which says what it does not see', async () => {
    const run = async (...parameters: string[]) => {
      let report: Report | undefined
      const program = new Command('ops').exitOverride().configureOutput({ writeErr: () => undefined })
      addStorageCommand(program, {
        openStoredData: (work) => work({ auth: opened.database, deals: undefined }),
        clock,
        report:
          (work) =>
          async (...given) => {
            report = await work(...given)
          },
      })
      await program.parseAsync(['storage', ...parameters], { from: 'user' })
      return report
    }
    const { text = '', json } = (await run('--days', '7')) ?? {}
    expect(text).toMatch(/^KIND +ROWS +TABLE +INDEXES +A ROW +ROWS A DAY +GROWTH +REMOVED\n/)
    expect(text).toMatch(/\naudit entries +0 +\d+\.\d+ kB +\S+ kB +- +0 +0 B +by `ops audit archive --remove`\n/)
    expect(text).toMatch(
      /\nTogether: \S+ kB\nAUDIT ENTRIES FROM +FIRST +LAST +SIZE\n- +1 +… +\S+ kB\nWithout DEAL_DATABASE_URL, that database is not seen\.\nNothing is due\.$/,
    )
    expect(json).toMatchObject({ notSeen: ['DEAL_DATABASE_URL'], due: [], kinds: expect.any(Array) })
    expect(json).toMatchObject({ partitions: [{ name: 'audit_entries_from_1', first: 1, behind: null, month: null }] })
    await expect(run('--days', '0')).rejects.toThrow(/from 1 to 9999/)
  })
})

it('says when a table is too large, and when its room is not freed', () => {
  const kind = { name: 'events', table: 'deals.events', kept: true, removal: '' }
  const measured = { rows: 1e9, bytesPerRow: 500, rowsPerDay: 1e6, overdueRows: 0, deadRows: 0 }
  const size = (bytes: number, bytesPerDay: number) => ({ ...measured, tableBytes: bytes, indexBytes: 0, bytesPerDay })
  expect(dueOf(kind, size(0.5e12, 1e9))).toEqual(['The events reach 1.00 TB in about 16 months.'])
  expect(dueOf(kind, size(0.1e12, 1e9))).toEqual([])
  expect(dueOf({ ...kind, kept: false }, size(0.5e12, 1e9))).toEqual([])
  expect(dueOf(kind, size(1.26e12, 0))).toEqual(['The events take 1.26 TB, over 1.00 TB.'])
  expect(dueOf(kind, { ...size(1e9, 0), deadRows: 5e8 })).toEqual([expect.stringContaining('autovacuum is behind')])
  expect(dueOf(kind, { ...size(1e6, 0), deadRows: 5e8 })).toEqual([])
  expect(dueOf(kind, { ...size(1, 0), overdueRows: 10_000 })).toEqual([expect.stringContaining('10000 or more')])
})

it('has bytes in three digits', () => {
  const texts = [0, 999, 1000, 9994, 9999, 99_949, 99_999, 999_499, 999_999, 1.26e12].map(bytesText)
  const expected = [
    '0 B',
    '999 B',
    '1.00 kB',
    '9.99 kB',
    '10.0 kB',
    '99.9 kB',
    '100 kB',
    '999 kB',
    '1.00 MB',
    '1.26 TB',
  ]
  expect(texts).toEqual(expected)
})
