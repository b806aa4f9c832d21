import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import postgres, { type ReservedSql, type Sql } from 'postgres'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LoggedEvent } from '../../../deal-server/events/event-log.ts'
import { beginning, type Place } from '../../../deal-server/events/position.ts'
import { createEventLog } from '../../../deal-server/store/event-log.ts'
import { bucketOf } from '../../../deal-server/store/events/bucket.ts'
import { dealHousekeepingJobs } from '../../../deal-server/store/housekeeping.ts'
import { campaign } from '../../support/campaign.ts'
import { describeDealStores } from '../../support/stores/citus.ts'
import { databaseOfSuite } from '../../support/stores/own-database.ts'
import { writeEventsStatement } from './commits.ts'

const oneSession = 'one session serves everybody here'
const numRuns = campaign({ short: 25, long: 500 })
const slots = [0, 1, 2, 3]

/** One event, as a commit writes it: in statements that each name one bucket. */
const countStatement =
  'update deals.event_counters set count = count + 1 where bucket = $1::smallint returning count::text as count'
const insertStatement = `
  insert into deals.events (bucket, number, id, deal_id, sequence, deal_version, type, data, currency, occurred_at, actor,
    use_case, style, correlation_id)
  values ($1::smallint, $2::bigint, $3::uuid, $4::uuid, $5::int, 1, 'deal.held', '{}', 'EUR', '2026-01-01T00:00:00Z',
    'alice', 'HoldDeal', 'resource', gen_random_uuid())`

describeDealStores('the slices of the event log', (open) => {
  const { database, url } = databaseOfSuite(open)

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
    database.write(writeEventsStatement, [`{${Array.from({ length: deals }, () => randomUUID()).join(',')}}`, '1'])
  const remove = (ids: readonly string[]) =>
    database.write('delete from deals.events where id in (select unnest($1::text::uuid[]))', [`{${ids.join(',')}}`])
  const positions = (events: readonly LoggedEvent[]) => events.map(({ position }) => position)

  /** Removes slices without events, as housekeeping does. */
  const removeEmptySlices = async () => {
    const job = dealHousekeepingJobs.find(({ name }) => name === 'slices without events')
    if (!job) throw new Error('no job removes slices')
    while ((await job.removeBatch(database.drizzle, { limit: 1_000, now: '2026-01-01T00:00:00Z' })) > 0);
  }

  it('count events without a gap, and are read in pages of any size, also from the middle', async () => {
    await writeMany(2_500)
    const all = await readAll(700)
    expect(positions(all)).toEqual(Array.from({ length: 2_500 }, (_, index) => index + 1))
    const totals = await database.query<{ total: number }>('select total from deals.event_slices')
    expect(totals.length).toBeGreaterThan(500)
    expect(totals.reduce((sum, { total }) => sum + total, 0)).toBe(2_500)
    for (const index of [0, 1_234, 2_499]) {
      const rest = await readAll(999, all[index])
      expect(positions(rest)).toEqual(positions(all.slice(index + 1)))
    }
  })

  it('that have lost all their events are passed over, and removed, and no position changes', async () => {
    const before = await readAll(1_000)
    for (let count = 0; count < 5; count += 1) {
      await writeMany(1)
      await createEventLog(database).state()
    }
    const all = await readAll(2, before.at(-1))
    expect(positions(all)).toEqual([2_501, 2_502, 2_503, 2_504, 2_505])
    await remove(all.slice(0, 4).map(({ id }) => id))
    expect(positions(await readAll(1, before.at(-1)))).toEqual([2_505])
    await remove(before.map(({ id }) => id))
    await removeEmptySlices()
    const left = await database.query<{ last_position: number }>(
      'select to_json(last_position) as last_position from deals.event_slices',
    )
    expect(left).toEqual([{ last_position: 2_505 }])
    expect(positions(await readAll(1))).toEqual([2_505])
    await writeMany(1)
    expect(positions(await readAll(1))).toEqual([2_505, 2_506])
  })

  describe('with transactions that several sessions have open at once, in any order of steps', () => {
    let sessions: Sql
    let open: Map<number, { readonly session: ReservedSql; readonly written: string[] }>
    let start: Place
    /** Deals of each slot and one of all, in different buckets: else one transaction would wait for another. */
    let deals: string[][]
    /** The slot whose open transaction has written an event of the deal of all. */
    let holder: number | undefined
    let sequence = 0

    beforeEach(async ({ skip }) => {
      skip(!database.concurrentSessions, oneSession)
      sessions = postgres(url(), {
        max: slots.length,
        onnotice: () => undefined,
      })
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
      const [id, dealId = ''] = [randomUUID(), deals[slot]?.[deal]]
      const place = [bucketOf(dealId)]
      const [counted] = await transaction.session.unsafe<{ count: string }[]>(countStatement, place)
      await transaction.session.unsafe(insertStatement, [...place, counted?.count ?? '', id, dealId, sequence])
      transaction.written.push(id)
    }

    async function end(slot: number, how: 'commit' | 'rollback'): Promise<readonly string[]> {
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
      { weight: 1, arbitrary: fc.tuple(fc.constant('remove' as const), fc.nat(3), fc.constant(0)) },
    )
    const steps = fc.array(step, { minLength: 5, maxLength: 25, size: 'max' })

    it('have at once what is committed, whatever is open: at the next positions, which no event and no removal changes', async () => {
      const runs = fc.asyncProperty(steps, async (taken) => {
        start = (await createEventLog(database).takeSnapshot()).last
        const [seen, removed, waiting]: [LoggedEvent[], Set<string>, string[]] = [[], new Set(), []]
        for (const [name, slot, deal] of [...taken, ['read', 0, 0] as const]) {
          if (name === 'write') await write(slot, deal)
          else if (name === 'remove') {
            // Not the last one: the end of the log stays.
            const gone = seen.slice(0, -1).filter((_, index) => index % 4 === slot)
            for (const { id } of gone) removed.add(id)
            await remove(gone.map(({ id }) => id))
            await removeEmptySlices()
          } else if (name !== 'read') waiting.push(...(await end(slot, name)))
          else {
            const read = await readAll(1 + slot, start)
            const known = seen.filter(({ id }) => !removed.has(id))
            expect(read.slice(0, known.length)).toEqual(known)
            const entered = read.slice(known.length)
            const first = start.position + seen.length + 1
            expect(positions(entered)).toEqual(entered.map((_, index) => first + index))
            expect(entered.map(({ id }) => id).sort()).toEqual(waiting.splice(0).sort())
            seen.push(...entered)
          }
        }
        const bySequence = [...seen].sort((a, b) => a.sequence - b.sequence)
        for (const { dealId } of seen) {
          const ofDeal = (events: readonly LoggedEvent[]) => events.filter((event) => event.dealId === dealId)
          expect(ofDeal(seen)).toEqual(ofDeal(bySequence))
        }
        for (const slot of slots) await end(slot, 'rollback')
      })
      await fc.assert(runs, { numRuns, endOnFailure: true })
    })
  })
})
