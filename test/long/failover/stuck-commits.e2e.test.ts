/** The database port on a PostgreSQL server whose commits wait for a standby that is not there. */
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Database, Drizzle } from '../../../shared/platform/database/database.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { campaign } from '../../support/campaign.ts'
import { eventually } from '../../support/eventually.ts'
import { watchHoldUps } from '../../support/held-up.ts'
import { findPostgresBinaries, PostgresServer } from '../../support/processes/stores/postgres-server.ts'

const binaries = findPostgresBinaries()

/** The promise is 100 ms, for a machine with other work more. */
const atOnceMs = 500
/** Four writes and one commit of a transaction. */
const maxStuck = 5

describe.skipIf(binaries === undefined)('commits that wait for a missing standby', () => {
  let heldUpMs: () => number
  let server: PostgresServer
  let database: Database
  /** A second server of Keyhold on the same database. */
  let other: Database

  beforeAll(async () => {
    server = await PostgresServer.create(binaries ?? '')
    await server.query('create table note (text text)')
  })
  afterAll(() => server?.remove())

  beforeEach(async () => {
    database = openPostgres(server.url)
    other = openPostgres(server.url)
    await write('before')
    heldUpMs = watchHoldUps()
  })
  afterEach(async () => {
    await needStandby(false)
    await Promise.all([database.close(), other.close()])
    await server.query('truncate note')
  })

  const needStandby = async (isNeeded: boolean): Promise<void> => {
    await server.query(`alter system set synchronous_standby_names = '${isNeeded ? 'ghost' : ''}'`)
    await server.query('select pg_reload_conf()')
    const inForce = async () => (await server.query('show synchronous_standby_names'))[0]?.synchronous_standby_names
    await eventually(async () => expect(await inForce()).toBe(isNeeded ? 'ghost' : ''))
    // Sessions read the configuration at their next statement.
    await pause(100)
  }

  const write = (text: string, way = database) => way.write('insert into note values ($1)', [text])

  const transact = (text: string, way = database) =>
    way.transaction(async (transaction) => {
      await transaction.execute(sql`insert into note values (${text})`)
    })

  const notes = async (): Promise<string[]> => {
    const rows = await database.query<{ text: string }>('select text from note order by text')
    return rows.map(({ text }) => text)
  }

  /**
   * Reads without a pause. A session that owes an answer for 5 s is otherwise given up, and then reads are refused for
   * a moment.
   */
  const readFor = async (ms: number): Promise<void> => {
    const end = performance.now() + ms
    while (performance.now() < end) expect(await notes()).toContain('before')
  }

  const waiting = () => server.query("select pid from pg_stat_activity where wait_event = 'SyncRep'")

  const expectRefused = async (attempt: () => Promise<unknown>): Promise<void> => {
    const began = performance.now()
    await expect(attempt()).rejects.toMatchObject({ name: 'Unavailable', dependency: 'database-writes' })
    expect(performance.now() - began).toBeLessThan(atOnceMs + heldUpMs())
  }

  const expectClosed = async (way = database): Promise<void> => {
    await expectRefused(() => write('refused', way))
    await expectRefused(() => transact('refused', way))
    const removal = async (drizzle: Drizzle) => void (await drizzle.execute(sql`delete from note`))
    await expectRefused(() => way.exclusivelyIfFree('removal', removal))
    expect(() => way.checkWrites()).toThrow(Unavailable)
  }

  const expectOpen = async (way = database): Promise<void> => {
    await eventually(() => way.checkWrites())
    await write('after', way)
    await transact('after', way)
  }

  it('are noticed once; then writes are refused at once, reads go on, and no more sessions wait', async () => {
    await needStandby(true)
    const early = Array.from({ length: 24 }, (_, index) => (index % 4 === 0 ? transact('early') : write('early')))
    const reads = Array.from({ length: 50 }, () => notes())
    expect(await Promise.all(reads)).toEqual(Array(50).fill(['before']))
    const outcomes = await Promise.allSettled(early)
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { dependency: 'database-writes' } })
    for (let round = 0; round < campaign({ short: 5, long: 100 }); round += 1) {
      await expectClosed()
      expect(await notes()).toEqual(['before'])
      expect((await waiting()).length).toBeLessThanOrEqual(maxStuck)
      await pause(100)
    }
    await readFor(campaign({ short: 5_200, long: 20_000 }))
    expect((await waiting()).length).toBeLessThanOrEqual(maxStuck)
    await needStandby(false)
    await expectOpen()
    const stored = await notes()
    expect(stored.filter((text) => text === 'early').length).toBeLessThanOrEqual(maxStuck)
    expect(stored).not.toContain('refused')
  })

  it('are noticed by each server; none adds sessions when its connections end meanwhile', async () => {
    await needStandby(true)
    for (const way of [database, other]) await expect(write('early', way)).rejects.toBeInstanceOf(Unavailable)
    await expectClosed(database)
    await expectClosed(other)
    await database.close()
    database = openPostgres(server.url)
    await expect(write('early')).rejects.toBeInstanceOf(Unavailable)
    await pause(1_000)
    expect((await waiting()).length).toBeLessThanOrEqual(3)
    await needStandby(false)
    await Promise.all([expectOpen(database), expectOpen(other)])
  })

  it('are still noticed after a restart of PostgreSQL, and end with the standby', async () => {
    await needStandby(true)
    await expect(write('early')).rejects.toBeInstanceOf(Unavailable)
    await server.kill()
    await server.start()
    await eventually(() => database.ping())
    expect(() => database.checkWrites()).toThrow(Unavailable)
    await readFor(campaign({ short: 5_200, long: 20_000 }))
    expect(() => database.checkWrites()).toThrow(Unavailable)
    expect((await waiting()).length).toBeLessThanOrEqual(maxStuck)
    await needStandby(false)
    await expectOpen()
  })

  it.each([
    ['cancelled', 'pg_cancel_backend'],
    ['ended', 'pg_terminate_backend'],
  ])('are no success when an administrator has %s the wait', async (_, end) => {
    await needStandby(true)
    for (const attempt of [write, transact]) {
      const outcome = attempt('local').then(
        () => 'success',
        (error: unknown) => error,
      )
      await eventually(async () => expect(await waiting()).toHaveLength(1))
      await server.query(`select ${end}(pid) from pg_stat_activity where wait_event = 'SyncRep'`)
      expect(await outcome).toBeInstanceOf(Unavailable)
      expect(() => database.checkWrites()).not.toThrow()
    }
    await needStandby(false)
    await expectOpen()
  })

  it('are told from writes that are slow or wait for a lock', async () => {
    const slow = database.write('insert into note select $1 from pg_sleep(1.6)', ['slow'])
    const locked = other.transaction(async (transaction) => {
      await transaction.execute(sql`lock table note in exclusive mode`)
      await transaction.execute(sql`select pg_sleep(1.5)`)
    })
    const behind = write('behind')
    for (let look = 0; look < 20; look += 1) {
      expect(() => database.checkWrites()).not.toThrow()
      await pause(100)
    }
    await Promise.all([slow, locked, behind])
    expect(await notes()).toEqual(['before', 'behind', 'slow'])
  })
})
