import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { beginning, type Place } from '../../../deal-server/events/position.ts'
import { createPurgedEventsJob } from '../../../deal-server/retention/purged-events.ts'
import { createEventLog } from '../../../deal-server/store/event-log.ts'
import { bucketOf } from '../../../deal-server/store/events/bucket.ts'
import { rfc3339 } from '../../../shared/platform/clock.ts'
import { describeDealStores } from '../../support/stores/citus.ts'
import { databaseOfTest } from '../../support/stores/own-database.ts'

const now = Date.UTC(2026, 5, 1)
const keptDays = 365

interface Happened {
  readonly days: number
  readonly count: number
  readonly type?: string
}

describeDealStores('events of purged deals', (open) => {
  const { database } = databaseOfTest(open)

  /** Events of a deal, of which the last one has the type. */
  const write = async (deal: string, { days, count, type = 'deal.deleted' }: Happened) => {
    const bucket = String(bucketOf(deal))
    const [counted] = await database.write<{ count: string }>(
      `update deals.event_counters set count = count + $2::text::int where bucket = $1::text::smallint
        returning count::text as count`,
      [bucket, count],
    )
    for (let sequence = 1; sequence <= count; sequence += 1) {
      await database.write(
        `insert into deals.events (id, deal_id, sequence, deal_version, type, data, currency, occurred_at, actor,
            use_case, style, correlation_id, bucket, number)
          values (gen_random_uuid(), $1::text::uuid, $2::text::int, 1, $3, '{}', 'EUR', $4::text::timestamptz, 'alice',
            'HoldDeal', 'resource', gen_random_uuid(), $5::text::smallint, $6::text::bigint)`,
        [
          deal,
          sequence,
          sequence === count ? type : 'deal.held',
          rfc3339(now - days * 86_400_000),
          bucket,
          Number(counted?.count) - count + sequence,
        ],
      )
    }
  }
  /** The same events, which enter the log at once. */
  const happened = async (of: Happened, deal: string = randomUUID()) => {
    await write(deal, of)
    await createEventLog(database).state()
    return deal
  }
  const positionsFrom = async (place: Place = beginning) => {
    const log = createEventLog(database)
    const seen: { position: number; deal: string; sequence: number }[] = []
    for (let after = place; ; ) {
      const page = await log.read(after, { limit: 2 })
      seen.push(...page.events.map(({ position, dealId: deal, sequence }) => ({ position, deal, sequence })))
      if (page.isLast) return seen
      after = page.end
    }
  }
  const sequencesOf = async (deal: string) =>
    (await positionsFrom()).flatMap((event) => (event.deal === deal ? [event.sequence] : []))
  /** Looks at each event at least once. */
  const keepHouse = async ({ window = 100_000, limit = 1_000, runs = 2 } = {}) => {
    const job = createPurgedEventsJob({ keptDays, window })
    const counts: number[] = []
    for (let run = 0; run < runs; run += 1) {
      counts.push(await job.removeBatch(database.drizzle, { now: rfc3339(now), limit }))
    }
    return counts
  }
  const webhookAt = async (position: number) => {
    const id = randomUUID()
    await database.write(
      `insert into deals.webhooks (id, url, types, deals, state, paused_reason, pause_reported, created_by, created_at,
          updated_at, responsible, responsible_user_id, sees_deleted, secret, revision, position, failures)
        values ($1::text::uuid, 'x', '[]', '[]', 'paused', 'by-user', false, 'a', now(), now(), 'a', 'a', false, 's', 1,
          $2::text::bigint, 0)`,
      [id, position],
    )
    return id
  }

  it('are deleted so many days after the deletion, but for the last one, and those of no other deal', async () => {
    const old = await happened({ days: keptDays, count: 4 })
    const young = await happened({ days: keptDays - 1, count: 3 })
    const torn = await happened({ days: 500, count: 3, type: 'deal.held' })
    await database.write(
      `update deals.events set type = 'deal.deleted'
        where sequence = 2 and deal_id = $1::text::uuid and bucket = $2::text::smallint`,
      [torn, String(bucketOf(torn))],
    )
    const alive = await happened({ days: 500, count: 3 })
    await database.write(
      `insert into deals.deals (id, name, price, currency, owner_id, status, held, penalty_total, task_count, version,
          sequence, created_at, created_by, updated_at, updated_by, bucket)
        values ($1::text::uuid, 'x', 1, 'EUR', 'alice', 'open', false, 0, 0, 3, 3, now(), 'alice', now(), 'alice',
          $2::text::smallint)`,
      [alive, bucketOf(alive)],
    )
    expect(await keepHouse()).toEqual([3, 0])
    expect(await sequencesOf(old)).toEqual([4])
    for (const deal of [young, torn, alive]) expect(await sequencesOf(deal)).toEqual([1, 2, 3])
  })

  it('are found in batches of some events and some deals, one after the other, and again from the first one', async () => {
    const deals: string[] = []
    for (let count = 0; count < 7; count += 1) deals.push(await happened({ days: 400, count: 3 }))
    expect(await keepHouse({ limit: 2, runs: 5 })).toEqual([4, 4, 4, 2, 0])
    const job = createPurgedEventsJob({ keptDays, window: 2 })
    const again = await happened({ days: 400, count: 3 })
    let count = 0
    for (let run = 0; run < 12; run += 1) {
      count += await job.removeBatch(database.drizzle, { now: rfc3339(now), limit: 1_000 })
    }
    expect([count, await sequencesOf(again)]).toEqual([2, [3]])
    for (const deal of deals) expect(await sequencesOf(deal)).toEqual([3])
    const further = await happened({ days: 400, count: 3 })
    for (let run = 0; run < 12; run += 1) await job.removeBatch(database.drizzle, { now: rfc3339(now), limit: 1_000 })
    expect(await sequencesOf(further)).toEqual([3])
  })

  it('stay until every webhook has had them, also one that is paused', async () => {
    const [first, second] = [await happened({ days: 400, count: 3 }), await happened({ days: 400, count: 3 })]
    const webhook = await webhookAt(4)
    expect(await keepHouse()).toEqual([2, 0])
    expect([await sequencesOf(first), await sequencesOf(second)]).toEqual([[3], [1, 2, 3]])
    await database.write('update deals.webhooks set position = 6 where id = $1::text::uuid', [webhook])
    expect(await keepHouse()).toEqual([2, 0])
    expect(await sequencesOf(second)).toEqual([3])
  })

  it('stay while one of their deal waits for a webhook', async () => {
    const deal = await happened({ days: 400, count: 3 })
    await database.write(
      'insert into deals.webhook_blocked values ($1::text::uuid, $2::text::uuid, 2, 1, now(), now())',
      [await webhookAt(3), deal],
    )
    expect(await keepHouse()).toEqual([0, 0])
    await database.write('delete from deals.webhook_blocked')
    expect(await keepHouse()).toEqual([2, 0])
  })

  it('stay until they have entered the log', async () => {
    const deal = randomUUID()
    await write(deal, { days: 400, count: 3 })
    expect(await keepHouse()).toEqual([0, 0])
    await createEventLog(database).state()
    expect(await keepHouse()).toEqual([2, 0])
  })

  it('leave a log that is read to its end, from its beginning and from every position that is left', async () => {
    for (let count = 0; count < 3; count += 1) await happened({ days: 400, count: 3 })
    const [gone] = await positionsFrom()
    expect(await keepHouse()).toEqual([6, 0])
    const left = await positionsFrom()
    expect(left.map(({ position }) => position)).toEqual([3, 6, 9])
    const log = createEventLog(database)
    for (const { position } of left) {
      const { place } = await log.takeSnapshot(position)
      expect(await positionsFrom(place ?? beginning)).toEqual(left.filter((other) => other.position > position))
    }
    // A stream from there is refused: 400.
    const { place, last } = await log.takeSnapshot(gone?.position)
    expect({ place, last: last.position }).toEqual({ place: undefined, last: 9 })
  })
})
