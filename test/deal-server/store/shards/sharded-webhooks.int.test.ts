/** Webhooks whose events are on two shards: where they go on after a shard has lost commits, and how they go back. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { beginning, type EventLog, type MarkedPlace } from '../../../../deal-server/events/event-log.ts'
import { createEventLog } from '../../../../deal-server/store/event-log.ts'
import { shardOfDeal } from '../../../../deal-server/store/shards/shard-of.ts'
import {
  createShardedWebhookStore,
  createShardedWebhookWork,
} from '../../../../deal-server/store/shards/sharded-webhooks.ts'
import type { BlockedDeal, WebhookStore, WebhookWork } from '../../../../deal-server/webhooks/ports.ts'
import type { Database } from '../../../../shared/platform/database/database.ts'
import { timelineMark } from '../../../../shared/platform/database/timeline.ts'
import { Unavailable } from '../../../../shared/platform/problems/errors.ts'
import { type Backend, describeOnce } from '../../../support/stores/backends.ts'
import { migrateBoth } from '../../../support/stores/migrate-both.ts'
import { writeEventStatement } from '../commits.ts'

const former = 'former.1'
const at = '2026-01-01T00:00:00.000Z'
const health = {
  ...{ failures: 0, lastSuccessAt: null, lastFailureAt: null, lastFailureStatus: null, lastFailureReason: null },
  heldUntil: null,
}
const dealOf = (shard: number): string => {
  let id = randomUUID()
  while (shardOfDeal(id, 2) !== shard) id = randomUUID()
  return id
}

describeOnce('webhooks of two shards', (openBackend) => {
  const backends: Backend[] = []
  let leading: Database
  let shards: Database[]
  let logs: EventLog[]
  let store: WebhookStore
  let work: WebhookWork
  /** Two events of each shard, as places. */
  let places: MarkedPlace[][]
  const deals = [dealOf(0), dealOf(1)]
  const isAway = [false, false]

  beforeAll(async () => {
    backends.push(...(await Promise.all(Array.from({ length: 3 }, openBackend))))
    const databases = backends.map((backend) => backend.openDatabase())
    await Promise.all(databases.map(migrateBoth))
    const [first, ...others] = databases as [Database, Database, Database]
    leading = first
    shards = others
    logs = others.map((database, shard): EventLog => {
      const log = createEventLog(database)
      const takeSnapshot = (position?: number) =>
        isAway[shard] ? Promise.reject(new Unavailable('database')) : log.takeSnapshot(position)
      return { ...log, takeSnapshot }
    })
    const withLogs = others.map((database, shard) => ({ database, log: logs[shard] as EventLog }))
    const sharded = { shards: withLogs, shardOf: (id: string) => shardOfDeal(id, 2) }
    store = createShardedWebhookStore(leading, sharded)
    work = createShardedWebhookWork(leading, sharded)
    places = await Promise.all(others.map((database, shard) => writeTwo(database, shard)))
  })
  afterAll(async () => {
    await Promise.all([leading, ...shards].map((database) => database.close()))
    await Promise.all(backends.map((backend) => backend.close()))
  })

  /** Two events, each in a slice of its own. */
  async function writeTwo(database: Database, shard: number): Promise<MarkedPlace[]> {
    const found: MarkedPlace[] = []
    for (const sequence of [1, 2]) {
      await database.write(writeEventStatement, [deals[shard] ?? '', String(sequence)])
      const { last, timeline } = await createEventLog(database).takeSnapshot()
      found.push({ ...last, mark: timelineMark(timeline) })
    }
    return found
  }

  async function create(from: readonly MarkedPlace[]): Promise<string> {
    const id = randomUUID()
    const settings = { url: 'https://receiver.test/', types: [], deals: [], description: null }
    const responsible = { username: 'admin', userId: 'admin', seesDeleted: true }
    await store.create({ ...settings, id, sealedSecret: '', responsible, at, places: from }, 100)
    return id
  }

  async function load(id: string) {
    const owner = randomUUID()
    await leading.write(
      `update deals.webhooks set lease_owner = $2::text::uuid, lease_until = now() + interval '1 hour'
        where id = $1::text::uuid returning to_json(id) as id`,
      [id, owner],
    )
    const [loaded] = await work.load(owner, [id])
    if (!loaded) throw new Error('the webhook is there')
    return { loaded, owner }
  }

  const place = (shard: number, event: number): MarkedPlace => places[shard]?.[event] as MarkedPlace
  const positions = (found: readonly (MarkedPlace | undefined)[]) => found.map((one) => one?.position)

  it('go on after the place in each log, and without one in a log that is away', async () => {
    const id = await create([place(0, 0), place(1, 1)])
    expect((await load(id)).loaded.places).toMatchObject([
      { slice: place(0, 0).slice, position: place(0, 0).position },
      { slice: place(1, 1).slice, position: place(1, 1).position },
    ])
    expect((await store.find(id))?.oldestWaitingAt).not.toBeNull()
    isAway[1] = true
    expect(positions((await load(id)).loaded.places)).toEqual([place(0, 0).position, undefined])
    isAway[1] = false
  })

  it('go back in each log, never forward, and free the deals whose events come again', async () => {
    const id = await create([place(0, 1), place(1, 0)])
    const { loaded, owner } = await load(id)
    const blocked: BlockedDeal[] = deals.map((dealId, shard) => ({
      ...{ dealId, sequence: 2 - shard, attempts: 1, nextAttemptAt: 0, since: at },
    }))
    const progress = { id, owner, revision: 1, leaseMs: 60_000, timeline: loaded.timeline, health, blocked }
    const given = [place(0, 1), place(1, 0)]
    expect(
      await work.save({ ...progress, places: given, pausedReason: null, pausedAt: null, unblocked: [], attempts: [] }),
    ).toBe(true)
    const forward = await store.rewind(id, [place(0, 1), place(1, 1)], at)
    expect([forward?.revision, positions(forward?.places ?? []), forward?.blockedDeals]).toEqual([
      1,
      positions(given),
      2,
    ])
    const back = await store.rewind(id, [place(0, 0), place(1, 1)], at)
    expect([back?.revision, positions(back?.places ?? [])]).toEqual([2, positions([place(0, 0), place(1, 0)])])
    expect((await load(id)).loaded.blocked.map(({ dealId }) => dealId)).toEqual([deals[1]])
    const upTo = place(1, 1)
    const waiting = await work.waiting({ dealId: deals[1] ?? '', sequence: 1, upTo, limit: 9, hidesDeleted: true })
    expect(waiting.map(({ sequence }) => sequence)).toEqual([1, 2])
  })

  it('go on after the last event that both logs have, when a shard has lost commits', async () => {
    const [first, second] = [place(0, 0), place(0, 1)]
    const [database] = shards as [Database]
    await database.write(
      `with moved as (
          update deals.event_timelines set ordinal = 2, first_slice = $1::text::bigint returning ordinal
        )
        insert into deals.event_timelines select 1, $2::text, 1 from moved returning to_json(ordinal) as ordinal`,
      [String(second.slice), former],
    )
    const other = place(1, 1)
    const mark = timelineMark(former)
    // In a slice that both have; in one that the former server made after the other had begun; on a timeline that this
    // log does not know.
    for (const [stored, expected] of [
      [{ ...first, mark }, first],
      [{ ...second, slice: second.slice + 7, position: second.position + 7, mark }, first],
      [{ ...second, mark: timelineMark('unknown.1') }, first],
      [{ ...beginning, mark: undefined }, beginning],
    ] as const) {
      const { loaded } = await load(await create([stored, other]))
      expect(loaded.places[0]).toMatchObject({ slice: expected.slice, position: expected.position })
      expect(loaded.places[1]).toMatchObject({ slice: other.slice, position: other.position })
    }
  })
})
