/**
 * Webhooks whose events are on several shards. The webhooks themselves, their leases and the deals that wait are in the
 * leading database, as with one. How far a webhook is, is a place in the log of each shard, with the mark of its
 * timeline: a shard may lose commits that the leading database knows of.
 */
import type { Database } from '../../../shared/platform/database/database.ts'
import { timelineMark } from '../../../shared/platform/database/timeline.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { beginning, type EventLog, type LogSnapshot, type MarkedPlace, wasThereOn } from '../../events/event-log.ts'
import type { LoadedWebhook, WebhookStore, WebhookView, WebhookWork } from '../../webhooks/ports.ts'
import { createWebhookWork, readWaiting } from '../webhook-work.ts'
import { createWebhookStore, rowOfPlaces } from '../webhooks.ts'
import type { ShardDatabase } from './shard-database.ts'

/** A shard with its log. */
export interface ShardWithLog {
  readonly database: Pick<ShardDatabase, 'query' | 'write'>
  readonly log: EventLog
}

/** The shards, and which of them has a deal. */
export interface WebhookShards {
  readonly shards: readonly ShardWithLog[]
  readonly shardOf: (dealId: string) => number
}

/** `$1`: a slice. The last event before it. */
const lastBeforeStatement = `
  select to_json(x) as place from deals.event_slices s cross join lateral (
    select e.slice, e.turn, e.position, e.id from deals.events_of_slice(s.slice) e
    order by e.turn desc, e.position desc limit 1
  ) x
  where s.slice < $1::text::bigint order by s.slice desc limit 1`

/** `$1`, `$2`, `$3`: a place; `$4`: deals, each with its next event. Those whose next event is not after the place. */
const notAfterStatement = `
  select to_json(b.deal_id) as id from json_to_recordset($4::text::json) as b(deal_id uuid, sequence int)
    join deals.events e on e.deal_id = b.deal_id and e.sequence = b.sequence, lateral deals.place_of(e) p
  where (p.slice, p.turn, p.position) <= ($1::text::bigint, $2::text::bigint, $3::text::bigint)`

/** `$1`: the id of a webhook. */
const blockedStatement = `
  select json_build_object('deal_id', deal_id, 'sequence', sequence) as blocked from deals.webhook_blocked
  where webhook_id = $1::text::uuid`

const tuple = (of: string) =>
  `((${of} ->> 'slice')::bigint, (${of} ->> 'turn')::bigint, (${of} ->> 'position')::bigint)`

/**
 * `$1`: an id; `$2`: places; `$3`: the time; `$4`: text of a uuid array: the deals that wait behind an event that is
 * not after these places. All others wait no more: the logs are read again from there.
 */
const rewindStatement = `
  with rewound as (
    update deals.webhooks w set updated_at = $3::text::timestamptz, revision = w.revision + 1, places = (
        select jsonb_agg(
          case when ${tuple('t.place')} < ${tuple('c.place')} then t.place else c.place end order by c.log)
        from jsonb_array_elements(w.places) with ordinality as c(place, log)
          join jsonb_array_elements($2::text::jsonb) with ordinality as t(place, log) on t.log = c.log)
    where w.id = $1::text::uuid and exists (
      select from jsonb_array_elements(w.places) with ordinality as c(place, log)
        join jsonb_array_elements($2::text::jsonb) with ordinality as t(place, log) on t.log = c.log
      where ${tuple('t.place')} < ${tuple('c.place')})
    returning w.id
  ),
  freed as (
    delete from deals.webhook_blocked b using rewound r
    where b.webhook_id = r.id and b.deal_id <> all($4::text::uuid[])
    returning b.deal_id
  )
  select to_json(id) as id from rewound`

/** The webhooks in the leading database, as clients manage them. */
export function createShardedWebhookStore(leading: Database, sharded: WebhookShards): WebhookStore {
  const store = createWebhookStore(leading)
  const seen = async (view: Promise<WebhookView | undefined>) => {
    const found = await view
    return found && withWaiting(found, sharded.shards)
  }
  return {
    ...store,
    create: (...given) => seen(store.create(...given)),
    find: (id) => seen(store.find(id)),
    change: (...given) => seen(store.change(...given)),
    replaceSecrets: (...given) => seen(store.replaceSecrets(...given)),
    list: async (page) => {
      const { items, ...rest } = await store.list(page)
      return { ...rest, items: await Promise.all(items.map((view) => withWaiting(view, sharded.shards))) }
    },
    rewind: async (id, places, at) => {
      const staying = await stayingBlocked(leading, sharded, { id, places })
      const target = JSON.stringify(rowOfPlaces(places).places)
      await leading.write(rewindStatement, [id, target, at, `{${staying.join(',')}}`])
      return seen(store.find(id))
    },
  }
}

/** Since when the oldest event waits, on the shards that answer. */
async function withWaiting(view: WebhookView, shards: readonly ShardWithLog[]): Promise<WebhookView> {
  const next = await Promise.all(
    shards.map(async ({ log }, shard) => {
      const page = await log.read(view.places?.[shard] ?? beginning, { limit: 1 }).catch(unlessAway)
      return page?.events[0]?.occurredAt
    }),
  )
  const times = [view.oldestWaitingAt, ...next].filter((time) => typeof time === 'string').sort()
  return { ...view, oldestWaitingAt: times[0] ?? null }
}

/** The deals that wait behind an event which is not after these places. @throws Unavailable */
async function stayingBlocked(
  leading: Pick<Database, 'query'>,
  { shards, shardOf }: WebhookShards,
  { id, places }: { readonly id: string; readonly places: readonly MarkedPlace[] },
): Promise<readonly string[]> {
  type Blocked = { readonly deal_id: string; readonly sequence: number }
  const rows = await leading.query<{ readonly blocked: Blocked }>(blockedStatement, [id])
  const found = await Promise.all(
    shards.map(({ database }, shard) => {
      const { slice, turn, position } = places[shard] ?? beginning
      const deals = rows.map(({ blocked }) => blocked).filter(({ deal_id }) => shardOf(deal_id) === shard)
      const parameters = [...[slice, turn, position].map(String), JSON.stringify(deals)]
      return deals.length === 0 ? [] : database.query<{ readonly id: string }>(notAfterStatement, parameters)
    }),
  )
  return found.flat().map((row) => row.id)
}

/** The work for the webhooks in the leading database. */
export function createShardedWebhookWork(leading: Database, { shards, shardOf }: WebhookShards): WebhookWork {
  const work = createWebhookWork(leading)
  return {
    ...work,
    load: async (owner, ids) => {
      const loaded = await work.load(owner, ids)
      if (loaded.length === 0) return []
      const snapshots = await Promise.all(shards.map(({ log }) => snapshotOf(log)))
      return Promise.all(loaded.map((one) => withPlaces(one, { shards, snapshots })))
    },
    waiting: async (events) => {
      const shard = shards[shardOf(events.dealId)]
      if (!shard) throw new TypeError('every deal has a shard')
      return readWaiting(shard.database, events)
    },
  }
}

/** Undefined while the shard is away, or has no slice of its present timeline yet: its log is not known then. */
async function snapshotOf(log: EventLog): Promise<LogSnapshot | undefined> {
  const snapshot = await log.takeSnapshot().catch(unlessAway)
  return snapshot?.timelines.at(-1)?.timeline === snapshot?.timeline ? snapshot : undefined
}

/** What each shard says of its log; undefined for one that is away. */
interface FoundLogs {
  readonly shards: readonly ShardWithLog[]
  readonly snapshots: readonly (LogSnapshot | undefined)[]
}

async function withPlaces(loaded: LoadedWebhook, { shards, snapshots }: FoundLogs): Promise<LoadedWebhook> {
  const places = await Promise.all(
    shards.map(({ database }, shard) => {
      const snapshot = snapshots[shard]
      const stored = loaded.webhook.places?.[shard] ?? { ...beginning, mark: undefined }
      return snapshot && presentPlace(database, stored, snapshot).catch(unlessAway)
    }),
  )
  return { ...loaded, places }
}

/**
 * Where to go on after a stored place. When another server took over and the place may be none of its log, that is the
 * last event which both have for certain: what follows comes once more, and nothing is left out. @throws Unavailable
 */
async function presentPlace(
  database: Pick<Database, 'query'>,
  stored: MarkedPlace,
  { timeline, timelines }: Pick<LogSnapshot, 'timeline' | 'timelines'>,
): Promise<MarkedPlace> {
  const mark = timelineMark(timeline)
  const isBeginning = stored.position === 0 || stored.mark === undefined
  if (isBeginning || stored.mark === mark || wasThereOn(stored.mark, stored, timelines)) return { ...stored, mark }
  const known = timelines.findIndex((one) => timelineMark(one.timeline) === stored.mark)
  const next = timelines[known < 0 ? timelines.length - 1 : known + 1]
  const slice = Math.min(stored.slice, next?.firstSlice ?? stored.slice)
  const [row] = await database.query<{ readonly place: MarkedPlace }>(lastBeforeStatement, [String(slice)])
  return { ...(row?.place ?? beginning), mark }
}

/** A shard that is away is left out. */
function unlessAway(error: unknown): undefined {
  if (!(error instanceof Unavailable)) throw error
}
