import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { eq, sql } from 'drizzle-orm'
import { beforeAll, beforeEach, expect, it } from 'vitest'
import { createEventStreams } from '../../../deal-server/events/event-streams.ts'
import { beginning, isBefore, type Place } from '../../../deal-server/events/position.ts'
import { createEventLog } from '../../../deal-server/store/event-log.ts'
import { positionOfEvent } from '../../../deal-server/store/event-statements.ts'
import { bucketOf } from '../../../deal-server/store/events/bucket.ts'
import { eventCounters, events } from '../../../deal-server/store/schema.ts'
import type { Database, Drizzle } from '../../../shared/platform/database/database.ts'
import { sqlTextOf } from '../../../shared/platform/database/statement.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeSystems } from '../../support/fake-systems.ts'
import { describeDealStores } from '../../support/stores/citus.ts'
import { databaseOfSuite } from '../../support/stores/own-database.ts'
import { fromNowOn, fromTheBeginning, SimulatedClient } from '../events/simulated-client.ts'

const oneSession = 'one session serves everybody here'

let database: Database
let sequence = 0

/** Writes an event as a commit does; gives its id. */
async function write(drizzle: Drizzle, dealId: string = randomUUID()): Promise<string> {
  sequence += 1
  const bucket = bucketOf(dealId)
  const [counted] = await drizzle
    .update(eventCounters)
    .set({ count: sql`${eventCounters.count} + 1` })
    .where(eq(eventCounters.bucket, bucket))
    .returning({ number: sql<string>`${eventCounters.count}::text` })
  const id = randomUUID()
  await drizzle.insert(events).values({
    id,
    dealId,
    sequence,
    dealVersion: 1,
    type: 'deal.held',
    data: {},
    currency: 'EUR',
    occurredAt: '2026-01-01T00:00:00Z',
    actor: 'alice',
    useCase: 'HoldDeal',
    style: 'resource',
    correlationId: randomUUID(),
    bucket,
    number: Number(counted?.number),
  })
  return id
}

const writeAlone = (dealId?: string): Promise<string> =>
  database.transaction((transaction) => write(transaction, dealId))

/** A transaction that has written an event and stays open until told. */
async function openTransaction() {
  let commit: () => void = () => undefined
  const ending = new Promise<void>((resolve) => {
    commit = resolve
  })
  let ended: Promise<void> = Promise.resolve()
  const id = await new Promise<string>((resolve) => {
    ended = database.transaction(async (transaction) => {
      resolve(await write(transaction))
      await ending
    })
  })
  return {
    id,
    commit: () => {
      commit()
      return ended
    },
  }
}

const openStreams = () =>
  createEventStreams(
    { ...fakeSystems(), eventLog: createEventLog(database), represent: ({ id }) => ({ id }) },
    { pollMs: 20, pageSize: 5 },
  )

const position = sqlTextOf(positionOfEvent)

describeDealStores('the event log', (open) => {
  const opened = databaseOfSuite(open)
  beforeAll(() => {
    database = opened.database
  })
  beforeEach(async () => {
    await database.query('delete from deals.events')
  })

  it('reads in pages, each event once, in order', async () => {
    const deal = randomUUID()
    for (let count = 0; count < 7; count += 1) await writeAlone(count % 3 ? undefined : deal)
    const log = createEventLog(database)
    for (const dealId of [undefined, deal]) {
      let place: Place = beginning
      const read: Place[] = []
      for (let isLast = false; !isLast; ) {
        const page = await log.read(place, { limit: 2, dealId })
        for (const event of page.events) expect(isBefore(place, event)).toBe(true)
        read.push(...page.events)
        place = page.end
        isLast = page.isLast
      }
      expect(read).toHaveLength(dealId ? 3 : 7)
      expect(read).toEqual([...read].sort((a, b) => (isBefore(a, b) ? -1 : 1)))
    }
  })

  it('finds the place of a position, and none for one that no event has or had', async () => {
    const gone = await writeAlone()
    const log = createEventLog(database)
    const { last: before } = await log.takeSnapshot()
    const id = await writeAlone()
    const { last } = await log.takeSnapshot()
    expect(last).toMatchObject({ position: before.position + 1, id })
    expect(await log.takeSnapshot(last.position)).toMatchObject({ place: last })
    expect(await log.takeSnapshot(last.position + 1)).toMatchObject({ place: undefined })
    await database.query('delete from deals.events where id = $1::text::uuid', [gone])
    expect(await log.takeSnapshot(before.position)).toMatchObject({ place: undefined })
  })

  it('ends with the last visible event, also after rollbacks, and in one run of the database', async () => {
    const deal = randomUUID()
    const log = createEventLog(database)
    await writeAlone(deal)
    await log.state()
    const id = await writeAlone()
    const undone = new Error('undone')
    const rollBack = database.transaction(async (transaction) => {
      await write(transaction)
      throw undone
    })
    await rollBack.catch((error: unknown) => expect(error).toBe(undone))
    const { last, runId } = await log.takeSnapshot()
    const pages = [await log.read(beginning, { limit: 50 }), await log.read(beginning, { limit: 5, dealId: deal })]
    expect(last.id).toBe(id)
    for (const page of pages) expect(page).toMatchObject({ end: last, runId, isLast: true, isIncomplete: false })
    expect(await log.read(last, { limit: 5 })).toMatchObject({ events: [], end: last })
  })

  it('shows what is committed, whatever older transaction is open, and its events when it commits', async ({
    skip,
  }) => {
    skip(!database.concurrentSessions, oneSession)
    const [client, fromNow] = [new SimulatedClient(), new SimulatedClient()]
    const streams = openStreams()
    await client.open(streams, fromTheBeginning)
    const slow = await openTransaction()
    const quick = await writeAlone()
    await eventually(() => expect(client.events()).toEqual([quick]))
    await fromNow.open(streams, fromNowOn)
    const resumed = new SimulatedClient()
    await resumed.open(streams, { ...fromTheBeginning, after: client.positions()[0] })
    await slow.commit()
    await eventually(() => expect(client.events()).toEqual([quick, slow.id]))
    for (const each of [fromNow, resumed]) await eventually(() => expect(each.events()).toEqual([slow.id]))
    await Promise.all([client.leave(), fromNow.leave(), resumed.leave()])
  })

  it('gives each event once to a client that is often disconnected, while many transactions commit late', async ({
    skip,
  }) => {
    skip(!database.concurrentSessions, oneSession)
    const streams = openStreams()
    const client = new SimulatedClient()
    await client.open(streams, fromTheBeginning)
    const undone = new Error('undone')
    let cuts = 0
    const writer = async (): Promise<void> => {
      for (let count = 0; count < 25 || cuts < 6; count += 1) {
        const work = database.transaction(async (transaction) => {
          for (let events = 0; events <= Math.random() * 3; events += 1) await write(transaction)
          await pause(Math.random() * 20)
          if (Math.random() < 0.2) throw undone
        })
        await work.catch((error: unknown) => expect(error).toBe(undone))
      }
    }
    let isWriting = true
    const writing = Promise.all(Array.from({ length: 6 }, writer)).finally(() => {
      isWriting = false
    })
    while (isWriting) {
      await pause(Math.random() * 60)
      const last = client.positions().at(-1)
      if (last === undefined) continue
      cuts += 1
      await client.leave()
      expect(await client.open(streams, { ...fromTheBeginning, after: last })).toBe(true)
    }
    await writing
    await createEventLog(database).state()
    type Row = { position: number; id: string }
    const written = await database.query<Row>(
      `with stored as materialized (select * from deals.events)
        select to_json(${position}) as position, to_json(e.id) as id from stored e order by ${position}`,
    )
    expect(written.length).toBeGreaterThan(100)
    await eventually(() => expect(client.events()).toEqual(written.map(({ id }) => id)))
    expect(client.positions()).toEqual(written.map(({ position }) => position))
    await client.leave()
  })
})
