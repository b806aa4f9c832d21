import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import postgres, { type ReservedSql, type Sql } from 'postgres'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { beginning, type LoggedEvent, type Place } from '../../../deal-server/events/event-log.ts'
import { createEventLog } from '../../../deal-server/store/event-log.ts'
import { bucketOf } from '../../../deal-server/store/events/bucket.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import { campaign } from '../../support/campaign.ts'
import { eventually } from '../../support/eventually.ts'
import { type Backend, describeBackends } from '../../support/stores/backends.ts'
import { migrateBoth } from '../../support/stores/migrate-both.ts'
import { writeEventStatement, writeFormerlyStatement } from './commits.ts'

const oneSession = 'one session serves everybody here'
const numRuns = campaign({ short: 25, long: 500 })
const slots = [0, 1, 2, 3]

describeBackends('the slices of the event log', (openBackend) => {
  let backend: Backend
  let database: Database

  beforeAll(async () => {
    backend = await openBackend()
    database = backend.openDatabase()
    await migrateBoth(database)
  })
  afterAll(async () => {
    await database.close()
    await backend.close()
  })

  /** All that is visible, read in pages. */
  async function readAll(limit: number, from: Place = beginning): Promise<LoggedEvent[]> {
    const log = createEventLog(database)
    const all: LoggedEvent[] = []
    for (let place: Place = from; ; ) {
      const page = await log.read(place, { limit })
      all.push(...page.events)
      place = page.end
      if (page.isLast) return all
    }
  }

  const writeMany = (deals: number) =>
    database.write(writeFormerlyStatement, [`{${Array.from({ length: deals }, () => randomUUID()).join(',')}}`])
  const forgetFormerServers = () => database.write('update deals.event_log set former_seen_at = null')
  const positions = (events: readonly LoggedEvent[]) => events.map(({ position }) => position)

  it('are of a thousand events at most, and read in pages of any size, also from the middle', async () => {
    await writeMany(2_500)
    await forgetFormerServers()
    const all = await readAll(700)
    expect(all).toHaveLength(2_500)
    expect(positions(all)).toEqual([...new Set(positions(all))].sort((a, b) => a - b))
    const totals = await database.query<{ total: number }>('select total from deals.event_slices order by slice')
    expect(totals.map(({ total }) => total)).toEqual([1_000, 1_000, 500])
    for (const index of [0, 1_234, 2_499]) {
      const rest = await readAll(999, all[index])
      expect(positions(rest)).toEqual(positions(all.slice(index + 1)))
    }
  })

  it('that have lost all their events are passed over', async () => {
    const before = await readAll(1_000)
    for (let count = 0; count < 5; count += 1) {
      await writeMany(1)
      await createEventLog(database).state()
    }
    const all = await readAll(2, before.at(-1))
    const gone = all.slice(0, 4).map(({ id }) => id)
    await database.write('delete from deals.events where id = any($1::text::uuid[])', [`{${gone.join(',')}}`])
    expect(positions(await readAll(1, before.at(-1)))).toEqual(positions(all.slice(4)))
  })

  describe('with transactions that several sessions have open at once, in any order of steps', () => {
    let sessions: Sql
    let open: Map<number, { readonly session: ReservedSql; readonly written: number[] }>
    let start: Place
    /** Deals of each slot and one of all, in different buckets: else one transaction would wait for another. */
    let deals: string[][]
    /** The slot whose open transaction has written an event of the deal of all. */
    let holder: number | undefined
    let sequence = 0

    beforeEach(async ({ skip }) => {
      skip(!database.concurrentSessions, oneSession)
      await forgetFormerServers()
      sessions = postgres(backend.environment.DEAL_DATABASE_URL ?? '', { max: slots.length, onnotice: () => undefined })
      open = new Map()
      const buckets = new Map<number, string>()
      while (buckets.size <= slots.length) {
        const id = randomUUID()
        buckets.set(bucketOf(id), id)
      }
      const [ofAll = '', ...ids] = buckets.values()
      deals = ids.map((id) => [id, ofAll])
      holder = undefined
    })
    afterEach(async () => {
      for (const slot of open?.keys() ?? []) await end(slot, 'rollback')
      await sessions?.end()
    })

    async function write(slot: number, deal: number): Promise<void> {
      if (deal === 1 && holder !== undefined && holder !== slot) return
      if (deal === 1) holder = slot
      let transaction = open.get(slot)
      if (!transaction) {
        transaction = { session: await sessions.reserve(), written: [] }
        open.set(slot, transaction)
        await transaction.session.unsafe('begin')
      }
      sequence += 1
      const parameters = [deals[slot]?.[deal] ?? '', String(sequence)]
      const [row] = await transaction.session.unsafe<{ position: number }[]>(writeEventStatement, parameters)
      transaction.written.push(row?.position ?? 0)
    }

    async function end(slot: number, how: 'commit' | 'rollback'): Promise<readonly number[]> {
      const transaction = open.get(slot)
      if (!transaction) return []
      open.delete(slot)
      if (holder === slot) holder = undefined
      await transaction.session.unsafe(how)
      transaction.session.release()
      return how === 'commit' ? transaction.written : []
    }

    const step = fc.oneof(
      { weight: 6, arbitrary: fc.tuple(fc.constant('write' as const), fc.nat(3), fc.nat(1)) },
      { weight: 3, arbitrary: fc.tuple(fc.constant('commit' as const), fc.nat(3), fc.constant(0)) },
      { weight: 1, arbitrary: fc.tuple(fc.constant('rollback' as const), fc.nat(3), fc.constant(0)) },
      { weight: 2, arbitrary: fc.tuple(fc.constant('read' as const), fc.nat(3), fc.constant(0)) },
    )
    const steps = fc.array(step, { minLength: 5, maxLength: 25, size: 'max' })

    it('have at once what is committed, in the order of positions since the one before, whatever is open', async () => {
      const runs = fc.asyncProperty(steps, async (taken) => {
        start = (await createEventLog(database).takeSnapshot()).last
        const [sliced, waiting]: [number[], number[]] = [[], []]
        for (const [name, slot, deal] of [...taken, ['read', 0, 0] as const]) {
          if (name === 'write') await write(slot, deal)
          else if (name !== 'read') waiting.push(...(await end(slot, name)))
          else {
            sliced.push(...waiting.splice(0).sort((a, b) => a - b))
            expect(positions(await readAll(1 + slot, start))).toEqual(sliced)
          }
        }
        for (const slot of slots) await end(slot, 'rollback')
      })
      await fc.assert(runs, { numRuns, endOnFailure: true })
    })

    it('follow the order of servers before release 0.3.0 while there are some, without a change of what was read', async () => {
      const runs = fc.asyncProperty(steps, async (taken) => {
        await writeMany(1)
        await eventually(async () =>
          expect(await createEventLog(database).state()).toMatchObject({ isHeldBack: false }),
        )
        start = (await createEventLog(database).takeSnapshot()).last
        const reads: number[][] = []
        for (const [name, slot, deal] of taken) {
          if (name === 'write') await write(slot, deal)
          else if (name !== 'read') await end(slot, name)
          else reads.push(positions(await readAll(3, start)))
        }
        for (const slot of slots) await end(slot, 'commit')
        const former = await database.query<{ position: number }>(
          `select to_json(e.position) as position from deals.events e
          where (e.xid, e.position) > (select xid, position from deals.events where position = $1::text::bigint)
          order by e.xid, e.position`,
          [String(start.position)],
        )
        const all = former.map(({ position }) => position)
        await eventually(async () => expect(positions(await readAll(4, start))).toEqual(all))
        for (const read of reads) expect(all.slice(0, read.length)).toEqual(read)
      })
      await fc.assert(runs, { numRuns, endOnFailure: true })
    })
  })
})
