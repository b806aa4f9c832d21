/** The migration that gives the events of former releases their positions, and webhooks their places. */
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { LoggedEvent } from '../../../deal-server/events/event-log.ts'
import { beginning, type Place } from '../../../deal-server/events/position.ts'
import { createEventLog } from '../../../deal-server/store/event-log.ts'
import { bucketOf } from '../../../deal-server/store/events/bucket.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import { migrateDatabase } from '../../../shared/platform/database/migrate.ts'
import { campaign } from '../../support/campaign.ts'
import { describeEmptyDatabases, type EmptyDatabase } from '../../support/stores/empty-databases.ts'
import { dealMigrations as migrationsFolder, migrationsUpTo } from '../../support/stores/migrations-up-to.ts'

const schema = 'deals'
/** The last migrations of release 0.2.0, and of the builds after it that had slices of many buckets. */
const [released, sliced] = [7, 16]

/** An event as a former release stored it. Without a number, it is one of release 0.2.0. */
interface Former {
  readonly id: string
  readonly deal_id: string
  readonly sequence: number
  readonly position: number
  readonly xid: string
  readonly bucket?: number
  readonly number?: number
}

/** The deals: the first two are in one bucket. */
const deals = Array.from({ length: 6 }, () => randomUUID() as string)
while (bucketOf(deals[0] as string) !== bucketOf(deals[1] as string)) deals[1] = randomUUID()

describeEmptyDatabases('positions after the migration of former events', (start) => {
  let database: Database
  let opened: EmptyDatabase
  const folders = { released: migrationsUpTo(released), sliced: migrationsUpTo(sliced) }

  beforeAll(async () => {
    opened = await start()
    database = opened.open()
  })
  afterAll(async () => {
    await database.close()
    await opened.dispose()
    for (const folder of Object.values(folders)) rmSync(folder, { recursive: true })
  })
  beforeEach(() => database.query('drop schema if exists deals cascade'))

  const columnsOfAll = `deal_version, type, data, currency, occurred_at, actor, use_case, style, correlation_id`
  const store = (columns: string, events: readonly Former[]) =>
    database.write(
      `insert into deals.events (${columns}, ${columnsOfAll})
          select ${columns}, 1, 'deal.held', '{}', 'EUR', '2026-01-01T00:00:00Z', 'alice', 'HoldDeal', 'resource',
            gen_random_uuid()
          from json_to_recordset($1::text::json) as r(id uuid, deal_id uuid, sequence int, position bigint, xid xid8,
            bucket smallint, number bigint)`,
      [JSON.stringify(events)],
    )
  const addWebhook = async (position: number): Promise<string> => {
    const id = randomUUID()
    await database.write(
      `insert into deals.webhooks (id, url, types, deals, state, pause_reported, created_by, created_at, updated_at,
            responsible, responsible_user_id, sees_deleted, secret, revision, position, failures)
          values ($1::text::uuid, 'x', '[]', '[]', 'active', true, 'a', now(), now(), 'a', 'a', true, 's', 1,
            $2::text::bigint, 0)`,
      [id, String(position)],
    )
    return id
  }
  const migrate = () => migrateDatabase(database, { migrationsFolder, schema })

  async function readFrom(place: Place): Promise<LoggedEvent[]> {
    const log = createEventLog(database)
    const all: LoggedEvent[] = []
    for (let after = place; ; ) {
      const page = await log.read(after, { limit: 3_000 })
      all.push(...page.events)
      after = page.end
      if (page.isLast) return all
    }
  }
  const idsFrom = async (place: Place) => (await readFrom(place)).map(({ id }) => id)
  async function placeOf(webhook: string): Promise<Place> {
    const [row] = await database.query<Place>(
      'select to_json(position) as position from deals.webhooks where id = $1::text::uuid',
      [webhook],
    )
    return row ?? beginning
  }
  const inDeals = (events: readonly { dealId: string; sequence: number }[]) => {
    const last = new Map<string, number>()
    return events.every(({ dealId, sequence }) => {
      const isNext = sequence > (last.get(dealId) ?? 0)
      last.set(dealId, sequence)
      return isNext
    })
  }

  it('have no gap, keep the order of deals, and let each webhook of release 0.2.0 go on behind its event', async () => {
    await migrateDatabase(database, { migrationsFolder: folders.released, schema })
    const ids = Array.from({ length: 3_000 }, () => randomUUID())
    // Two long transactions that wrote side by side: all of the lower one come first.
    const events = Array.from({ length: 12_000 }, (_, index): Former => {
      const deal = index % ids.length
      const sequence = 1 + Math.floor(index / ids.length)
      return {
        id: randomUUID(),
        deal_id: ids[deal] ?? '',
        sequence,
        position: 1 + index,
        xid: String(8 - (deal % 2)),
      }
    })
    await store('id, deal_id, sequence, position, xid', events)
    const former = [...events].sort((a, b) => Number(a.xid) - Number(b.xid) || a.position - b.position)
    await database.write('delete from deals.events where position in (700, 701)')
    const left = former.filter(({ position }) => position !== 700 && position !== 701)
    const webhooks = new Map<string, readonly Former[]>()
    for (const position of [0, 4, 5, 699, 701, 4_000, 9_999, 12_000]) {
      const upTo = Math.max(...left.map((one) => one.position).filter((one) => one <= position))
      const rest = left.slice(left.findIndex((one) => one.position === upTo) + 1)
      webhooks.set(await addWebhook(position), rest)
    }
    await migrate()
    const all = await readFrom(beginning)
    expect(all.map(({ position }) => position)).toEqual(all.map((_, index) => 1 + index))
    expect(all.map(({ id }) => id).sort()).toEqual(left.map(({ id }) => id).sort())
    expect(inDeals(all)).toBe(true)
    for (const [webhook, rest] of webhooks) {
      expect((await idsFrom(await placeOf(webhook))).sort()).toEqual(rest.map(({ id }) => id).sort())
    }
    const slices = await database.query('select from deals.event_slices')
    expect(slices.length).toBeLessThan(9 * 1024)
  })

  const step = fc.oneof(
    { weight: 8, arbitrary: fc.tuple(fc.constant('write' as const), fc.nat(5), fc.nat(2)) },
    { weight: 2, arbitrary: fc.tuple(fc.constant('slice' as const), fc.nat(1), fc.constant(0)) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('fail over' as const), fc.constant(0), fc.constant(0)) },
  )

  it('skip no event of a webhook, and repeat at most those of one slice, whatever slices there are', async () => {
    const runs = fc.asyncProperty(
      fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }),
      fc.array(fc.nat(), { minLength: 4, maxLength: 4 }),
      fc.array(fc.nat(), { minLength: 2, maxLength: 6 }),
      async (steps, stands, removals) => {
        await database.query('drop schema if exists deals cascade')
        await migrateDatabase(database, { migrationsFolder: folders.released, schema })
        const unnumbered = deals.map((deal_id, index) => ({
          id: randomUUID(),
          deal_id,
          sequence: 1,
          position: index + 1,
          xid: String(9 - index),
        }))
        await store('id, deal_id, sequence, position, xid', unnumbered)
        await migrateDatabase(database, { migrationsFolder: folders.sliced, schema })
        const sequences = new Map(deals.map((deal) => [deal, { sequence: 1, xid: 10 }]))
        const counts = new Map<number, number>()
        let position = deals.length
        for (const [what, n, later] of [...steps, ['slice', 0, 0] as const]) {
          if (what === 'fail over') {
            await database.write("update deals.event_timelines set timeline = timeline || '.former'")
          } else if (what === 'slice') {
            const seenAt = n === 0 ? 'null' : 'clock_timestamp()'
            await database.write(
              `update deals.event_log set former_seen_at = ${seenAt}, former_timeline = deals.present_timeline()`,
            )
            await database.write('select to_json(last_slice) as last from deals.slice_events()')
          } else {
            const deal = deals[n] ?? ''
            const last = sequences.get(deal) ?? { sequence: 0, xid: 0 }
            const next = { sequence: last.sequence + 1, xid: last.xid + later }
            sequences.set(deal, next)
            const bucket = bucketOf(deal)
            const number = 1 + (counts.get(bucket) ?? 0)
            counts.set(bucket, number)
            position += 1
            const event = { id: randomUUID(), deal_id: deal, position, bucket, number }
            await store('id, deal_id, sequence, position, xid, bucket, number', [
              { ...event, sequence: next.sequence, xid: String(next.xid) },
            ])
            await database.write(
              'update deals.event_counters set count = $1::text::bigint where bucket = $2::text::int',
              [String(number), String(bucket)],
            )
          }
        }
        for (const removal of removals) {
          await database.write('delete from deals.events where position = $1::text::bigint', [
            String(1 + (removal % (position - 1))),
          ])
        }
        type Row = { id: string; position: number; slice: number; turn: number }
        const former = await database.query<Row>(`
            select to_json(e.id) as id, to_json(e.position) as position, to_json(p.slice) as slice,
              to_json(p.turn) as turn
            from deals.events e, lateral deals.place_of(e) p order by p.slice, p.turn, p.position`)
        const webhooks = new Map<string, number>()
        for (const stand of stands) {
          const at = stand % (position + 1)
          const upTo = Math.max(...former.map((one) => one.position).filter((one) => one <= at))
          webhooks.set(
            await addWebhook(at),
            former.findIndex((one) => one.position === upTo),
          )
        }
        await migrate()
        const all = await readFrom(beginning)
        expect(all.map(({ id }) => id).sort()).toEqual(former.map(({ id }) => id).sort())
        expect(inDeals(all)).toBe(true)
        const [log] = await database.query<{ last: number }>(
          'select to_json(last_position) as last from deals.event_log',
        )
        // Numbers that were given stay.
        const left = former.filter((one) => one.position <= deals.length).length
        expect(log?.last).toBe(position - deals.length + left)
        for (const [webhook, index] of webhooks) {
          const read = new Set(await idsFrom(await placeOf(webhook)))
          for (const { id } of former.slice(index + 1)) expect(read.has(id)).toBe(true)
          const repeated = former.slice(0, index + 1).filter(({ id }) => read.has(id))
          const ofOneSlice = repeated.every(({ slice, turn }) => slice === former[index]?.slice && turn > 0)
          expect(ofOneSlice).toBe(true)
        }
      },
    )
    await fc.assert(runs, { numRuns: campaign({ short: 6, long: 100 }), endOnFailure: true })
  })
})
