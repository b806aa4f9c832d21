/**
 * Streams over a PostgreSQL that crashes just after transactions that were rolled back: it gives their numbers out
 * again.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EventLog } from '../../../deal-server/events/event-log.ts'
import { createEventStreams } from '../../../deal-server/events/event-streams.ts'
import { createEventLog } from '../../../deal-server/store/event-log.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { fromNowOn, fromTheBeginning, SimulatedClient } from '../../deal-server/events/simulated-client.ts'
import { writeEventsStatement } from '../../deal-server/store/commits.ts'
import { campaign } from '../../support/campaign.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeSystems } from '../../support/fake-systems.ts'
import { findPostgresBinaries, PostgresServer } from '../../support/processes/stores/postgres-server.ts'
import { migrateBoth } from '../../support/stores/migrate-both.ts'

const rounds = campaign({ short: 3, long: 30 })
const binaries = findPostgresBinaries()
const canRun = process.env.TEST_DATABASE_URL !== undefined && binaries !== undefined
const title = canRun ? '' : ' (skipped: TEST_DATABASE_URL, or programs of PostgreSQL, are missing)'

describe.skipIf(!canRun)(`streams over a PostgreSQL that crashes${title}`, () => {
  let postgres: PostgresServer
  /** Of the server with the streams, and of another one. */
  let here: Database
  let there: Database
  let reads = 0

  beforeAll(async () => {
    // Else what is rolled back is written down within moments.
    postgres = await PostgresServer.create(binaries ?? '', { wal_writer_delay: '10s' })
    here = openPostgres(postgres.url)
    there = openPostgres(postgres.url)
    await migrateBoth(there)
  })
  afterAll(async () => {
    await Promise.all([here.close(), there.close()])
    await postgres.remove()
  })

  /** Writes an event as a commit at the other server does, as soon as the database is there; gives its id. */
  async function write(): Promise<string> {
    for (let tries = 0; tries < 100; tries += 1) {
      try {
        const [written] = await there.write<{ id: string }>(writeEventsStatement, [`{${randomUUID()}}`, '1'])
        if (written) return written.id
      } catch {
        await pause(100)
      }
    }
    throw new Error('no event could be written')
  }

  const undone = new Error('undone')
  /** Takes the number of a transaction and leaves no trace of it. */
  const rollBack = () =>
    there
      .transaction(async (transaction) => {
        await transaction.execute(sql`select pg_current_xact_id()`)
        throw undone
      })
      .catch((error: unknown) => expect(error).toBe(undone))

  /** Streams whose reader looks when it is told to, at no other time. */
  function openStreams() {
    const log: EventLog = createEventLog(here)
    const counted: EventLog = {
      ...log,
      read: (...parameters) =>
        log.read(...parameters).finally(() => {
          reads += 1
        }),
    }
    const represent = ({ id }: { id: string }) => ({ id })
    const systems = { ...fakeSystems(), eventLog: counted, represent }
    const streams = createEventStreams(systems, { pollMs: 600_000, recheckMs: 100 })
    const look = async () => {
      const before = reads
      streams.wakeUp()
      await eventually(async () => expect(reads).toBeGreaterThan(before))
    }
    return { ...streams, look }
  }

  it(`end and lose nothing, in ${rounds} rounds`, async () => {
    for (let round = 0; round < rounds; round += 1) {
      const streams = openStreams()
      const client = new SimulatedClient()
      await client.open(streams, fromNowOn)
      const before = await write()
      await streams.look()
      await eventually(async () => expect(client.events()).toEqual([before]))
      const rolledBack = 1 + (round % 3)
      for (let count = 0; count < rolledBack; count += 1) await rollBack()
      await streams.look()
      await postgres.kill()
      await postgres.start()
      // As many as were rolled back: then no number says that the database went back.
      const after: string[] = []
      for (let count = 0; count < rolledBack + 1; count += 1) after.push(await write())
      await eventually(() => {
        streams.wakeUp()
        expect(client.isOpen()).toBe(false)
      })
      expect(await client.open(streams, { ...fromTheBeginning, after: client.positions()[0] })).toBe(true)
      await eventually(async () => expect(client.events().toSorted()).toEqual([before, ...after].toSorted()))
      await client.leave()
    }
  })
})
