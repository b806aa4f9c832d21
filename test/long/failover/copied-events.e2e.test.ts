/** Cursors of events and lists in copies of a database: on another PostgreSQL server, and after a promotion. */
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { beginning, markedPosition, parsePosition } from '../../../deal-server/events/position.ts'
import { findStart } from '../../../deal-server/events/stream-request.ts'
import { createDealRepository } from '../../../deal-server/store/deals.ts'
import { createEventLog } from '../../../deal-server/store/event-log.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import type { Position } from '../../../shared/platform/pagination.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { commitOf, newDeal } from '../../deal-server/store/commits.ts'
import { eventually } from '../../support/eventually.ts'
import { findPostgresBinaries, PostgresServer } from '../../support/processes/stores/postgres-server.ts'
import { migrateBoth } from '../../support/stores/migrate-both.ts'

const binaries = findPostgresBinaries()

describe.skipIf(binaries === undefined)('cursors of events and lists', () => {
  let source: PostgresServer
  let sourceDatabase: Database
  const opened: { readonly server: PostgresServer; readonly database: Database }[] = []

  beforeAll(async () => {
    source = await PostgresServer.create(binaries ?? '', { wal_level: 'logical' })
    sourceDatabase = openPostgres(source.url)
    await migrateBoth(sourceDatabase)
    // As in a cluster that has been at work for long: its transactions are ahead of those of every copy.
    await source.query('do $$ begin for i in 1..3000 loop perform pg_current_xact_id(); commit; end loop; end $$')
  })
  afterAll(async () => {
    await sourceDatabase?.close()
    for (const { database } of opened) await database.close()
    for (const { server } of [...opened, { server: source }]) await server?.remove()
  })

  const open = (server: PostgresServer) => {
    const database = openPostgres(server.url)
    opened.push({ server, database })
    return database
  }

  let created = 0
  /** Creates deals one after the other; their names are in order. */
  async function create(database: Database, count: number): Promise<void> {
    const store = createDealRepository(database)
    for (let made = 0; made < count; made += 1) {
      created += 1
      const deal = { ...newDeal(), name: `deal ${String(created).padStart(4, '0')}` }
      await eventually(async () => expect(await store.commit(commitOf(deal))).toMatch(/committed|deal-exists/))
    }
  }

  /** All events of the log, as streams show them: ids and marked positions. */
  async function readAll(database: Database) {
    const { events } = await createEventLog(database).read(beginning, { limit: 10_000 })
    return events.map((event) => ({ id: event.id, position: markedPosition(event) }))
  }

  /** The events of a stream that goes on after a position; what it was refused for. */
  async function resume(database: Database, text: string) {
    const log = createEventLog(database)
    const { position, mark } = parsePosition(text) ?? { position: -1, mark: undefined }
    try {
      const start = await findStart(log, { after: position, mark, dealId: undefined, types: undefined })
      if (!start) return 'none'
      const { events } = await log.read(start, { limit: 10_000 })
      return events.map(({ id }) => id)
    } catch (error) {
      return (error as { code?: string }).code
    }
  }

  const listByName = (database: Database, after: Position | undefined, limit = 2) => {
    const { list } = createDealRepository(database)
    return list({ filter: {} as never, sort: { by: 'name', descending: false }, page: { limit, after } })
  }

  const rename = async (database: Database, name: string) => {
    const store = createDealRepository(database)
    const found = (await listByName(database, undefined, 1_000)).items.find((deal) => deal.name === name)
    if (!found) throw new Error(`no deal is called ${name}`)
    const changed = { ...found, name: `renamed ${name}`, version: found.version + 1, sequence: found.sequence + 1 }
    const commit = commitOf(changed, { before: found })
    const [event] = commit.events
    const data = { old: name, new: changed.name }
    const events = event ? [{ ...event, event: { type: 'deal.renamed', data } as never }] : []
    expect(await store.commit({ ...commit, events })).toBe('committed')
  }

  const dump = (from: PostgresServer, to: PostgresServer, ...options: string[]) => {
    const sql = execFileSync(join(binaries ?? '', 'pg_dump'), [...options, from.url])
    execFileSync(join(binaries ?? '', 'psql'), ['-q', '-v', 'ON_ERROR_STOP=1', to.url], { input: sql, stdio: 'pipe' })
  }

  /** Takes cursors at the source; `copy` makes a copy; then both go on for themselves. */
  async function goOnIn(copy: () => Promise<Database>): Promise<void> {
    await create(sourceDatabase, 6)
    const before = await readAll(sourceDatabase)
    const { next } = await listByName(sourceDatabase, undefined)
    const all = (await listByName(sourceDatabase, undefined, 1_000)).items.map(({ id }) => id)
    // Nobody reads these before they are copied: they are in no slice.
    await create(sourceDatabase, 3)
    const copied = await copy()
    await create(sourceDatabase, 2)
    const lost = (await readAll(sourceDatabase)).slice(before.length + 3)
    await rename(copied, `deal ${String(created - 10).padStart(4, '0')}`)
    await create(copied, 4)
    const now = await readAll(copied)
    expect(now.slice(0, before.length).map(({ id }) => id)).toEqual(before.map(({ id }) => id))
    expect(now).toHaveLength(before.length + 8)
    for (const [index, { position }] of before.entries()) {
      expect(await resume(copied, position)).toEqual(now.slice(index + 1).map(({ id }) => id))
    }
    for (const { position } of lost) expect(await resume(copied, position)).toBe('outdated-cursor')
    expect(await resume(copied, `${now.at(-1)?.position.split('-')[0]}-${randomUUID().slice(24)}`)).toBe(
      'outdated-cursor',
    )
    const walked = (await listByName(copied, next, 1_000)).items.map(({ id }) => id)
    expect(walked).toEqual(all.slice(2))
  }

  it('go on in a database that was restored from a dump on another server', async () => {
    const server = await PostgresServer.create(binaries ?? '')
    const copy = async () => {
      dump(source, server)
      return open(server)
    }
    await goOnIn(copy)
  })

  it('go on in a logical copy that has followed', async () => {
    const server = await PostgresServer.create(binaries ?? '')
    dump(source, server, '--schema-only')
    await source.query('create publication all_deals for tables in schema deals')
    const connection = `host=127.0.0.1 port=${source.port} user=postgres dbname=postgres`
    await server.query(`create subscription all_deals connection '${connection}' publication all_deals`)
    const copy = async () => {
      const [written] = await source.query('select pg_current_wal_lsn()::text as lsn')
      await eventually(async () => {
        const slots = await source.query(
          `select from pg_replication_slots where slot_name = 'all_deals' and confirmed_flush_lsn >= '${written?.lsn}'`,
        )
        const tables = await server.query("select from pg_subscription_rel where srsubstate <> 'r'")
        expect([slots.length, tables.length]).toEqual([1, 0])
      })
      await server.query('drop subscription all_deals')
      return open(server)
    }
    await goOnIn(copy)
  })

  it('go on at a promoted standby that lacks the last events', async () => {
    const standby = await source.makeStandby()
    const copy = async () => {
      await standby.catchUpWith(source)
      await standby.cutOff()
      await standby.promote()
      return open(standby)
    }
    await goOnIn(copy)
  })
})
