/**
 * The statements of those who send events to webhooks. A lease says which server that is. Everything that a server
 * stores is stored only while it has the lease, the webhook is unchanged, and no other PostgreSQL server took over.
 */
import { and, eq, isNull, lt, or, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { rfc3339 } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { build, type JsonRow, namesOf, textOf } from '../../shared/platform/database/statement.ts'
import { historySql, requirePrimary } from '../../shared/platform/history/history.ts'
import type { BlockedDeal, LoadedWebhook, PauseReason, Progress, WebhookHead, WebhookWork } from '../webhooks/ports.ts'
import { a, b, e, w } from './aliases.ts'
import { type EventRow, eventOfRow } from './event-log.ts'
import { isHidden, ownerOf, positionOfEvent } from './event-statements.ts'
import { bucketOf } from './events/bucket.ts'
import { rfc3339OfRow } from './rows.ts'
import { events, webhookAttempts, webhookBlocked, webhooks } from './schema.ts'
import { type WebhookRow, webhookOfRow } from './webhook-rows.ts'
import { insertAttempts, rowOfAttempt } from './webhooks.ts'

const history = sql.raw(historySql)

/** So many attempts of a webhook are kept. */
const keptAttempts = 200
/** After this time another server reports a pause, in milliseconds. */
const reportedLateMs = 60_000

const isActive = eq(webhooks.state, sql`'active'`)
const isPaused = eq(webhooks.state, sql`'paused'`)
const isFree = or(isNull(webhooks.leaseUntil), lt(webhooks.leaseUntil, sql`clock_timestamp()`))

const headsStatement = textOf(sql`
  select coalesce((select json_agg(json_build_object('id', ${webhooks.id}, 'revision', ${webhooks.revision},
      'owner', ${webhooks.leaseOwner}, 'isFree', ${isFree})) from ${webhooks} where ${isActive}), '[]') as active,
    (select to_json(count(*)) from ${webhooks} where ${isPaused}) as paused,
    (select to_json(count(*) > 0) from ${webhooks} where not ${webhooks.pauseReported}
      and ${webhooks.pausedAt} < clock_timestamp() - interval '${sql.raw(String(reportedLateMs))} ms')
      as "isReportMissing"`)

/** `$1`: the server. */
const isOwn = eq(webhooks.leaseOwner, sql`$1::text::uuid`)
/** `$2`: milliseconds. */
const lease = sql`clock_timestamp() + $2::text::int * interval '1 ms'`
const itsId = { id: webhooks.id }

const free = build
  .$with('free')
  .as(
    build
      .select(itsId)
      .from(webhooks)
      .where(and(isActive, isFree))
      .orderBy(webhooks.id)
      .for('update', { skipLocked: true }),
  )
const claimStatement = textOf(
  build
    .with(free)
    .update(webhooks)
    .set({ leaseOwner: sql`$1::text::uuid`, leaseUntil: lease })
    .from(free)
    .where(eq(webhooks.id, free.id))
    .returning(itsId),
)

const renewStatement = textOf(
  build.update(webhooks).set({ leaseUntil: lease }).where(and(isOwn, isActive)).returning(itsId),
)

const releaseStatement = textOf(
  build.update(webhooks).set({ leaseOwner: sql`null`, leaseUntil: sql`null` }).where(isOwn).returning(itsId),
)

/** `$1`: the server; `$2`: text of a uuid array. */
const loadStatement = textOf(sql`
  select to_json(w) as webhook, ${history} as history,
    (select json_agg(b) from ${webhookBlocked} ${b} where ${b.webhookId} = ${w.id}) as blocked
  from ${webhooks} ${w}
  where ${w.id} = any($2::text::uuid[]) and ${w.leaseOwner} = $1::text::uuid and ${w.state} = 'active'`)

/** `$1`: an id; `$2`: a credential generation. */
const adoptGenerationStatement = textOf(
  build
    .update(webhooks)
    .set({ responsibleGeneration: sql`$2::text::int` })
    .where(and(eq(webhooks.id, sql`$1::text::uuid`), isNull(webhooks.responsibleGeneration)))
    .returning(itsId),
)

/** The columns of a webhook that progress changes. */
type SavedRow = Omit<Partial<WebhookRow>, 'lease_until'>

const r = alias(webhooks, 'r')
const excluded = alias(webhookBlocked, 'excluded')
const o = alias(webhookAttempts, 'o')

/**
 * `$1`: `SavedRow`; `$2`: milliseconds; `$3`: the history; `$4`, `$6`: rows of blocked deals and attempts; `$5`: text
 * of a uuid array.
 */
const saveStatement = textOf(sql`
  with held as (
    update ${webhooks} ${w} set
      (${namesOf(webhooks, 'position', 'failures', 'heldUntil')},
        ${namesOf(webhooks, 'lastSuccessAt', 'lastFailureAt', 'lastFailureStatus', 'lastFailureReason')},
        ${namesOf(webhooks, 'pausedReason', 'pausedAt', 'pauseReported', 'state', 'leaseUntil')}) =
      (${r.position}, ${r.failures}, ${r.heldUntil},
        ${r.lastSuccessAt}, ${r.lastFailureAt}, ${r.lastFailureStatus}, ${r.lastFailureReason},
        ${r.pausedReason}, ${r.pausedAt}, ${r.pausedReason} is null,
        case when ${r.pausedReason} is null then 'active' else 'paused' end, ${lease})
    from json_populate_record(null::${webhooks}, $1::text::json) ${r}
    where ${w.id} = ${r.id} and ${w.leaseOwner} = ${r.leaseOwner} and ${w.revision} = ${r.revision}
      and ${w.state} = 'active' and ${history} = $3::text
    returning ${w.id}
  ),
  blocked as (
    insert into ${webhookBlocked}
      (${namesOf(webhookBlocked, 'webhookId', 'dealId', 'sequence', 'attempts', 'nextAttemptAt', 'since')})
    select held.id, ${b.dealId}, ${b.sequence}, ${b.attempts}, ${b.nextAttemptAt}, ${b.since}
    from held, json_populate_recordset(null::${webhookBlocked}, $4::text::json) ${b}
    on conflict (${namesOf(webhookBlocked, 'webhookId', 'dealId')}) do update
      set (${namesOf(webhookBlocked, 'sequence', 'attempts', 'nextAttemptAt', 'since')}) =
        (${excluded.sequence}, ${excluded.attempts}, ${excluded.nextAttemptAt}, ${excluded.since})
  ),
  freed as (
    delete from ${webhookBlocked} ${b} using held where ${b.webhookId} = held.id and ${b.dealId} = any($5::text::uuid[])
  ),
  noted as (${insertAttempts(sql`held`, sql`$6::text::json`)}),
  forgotten as (
    delete from ${webhookAttempts} ${a} using held where ${a.webhookId} = held.id and ${a.id} <= (
      select ${o.id} from ${webhookAttempts} ${o} where ${o.webhookId} = held.id order by ${o.id} desc
      offset ${sql.raw(String(keptAttempts))} limit 1)
  )
  select id from held`)

/**
 * `$1`: a deal; `$2`: a sequence; `$3`: a position; `$4`: the limit; `$5`: whether hidden events are marked; `$6`: the
 * deal's bucket.
 */
const waitingStatement = textOf(sql`
  with stored as materialized (
    select e.*, $5::text::boolean and ${isHidden(sql`$1::text::uuid`, sql`$6::text::smallint`)} as is_hidden,
      ${ownerOf(sql`$1::text::uuid`, sql`$6::text::smallint`)}
    from ${events} ${e}
    where ${e.dealId} = $1::text::uuid and ${e.bucket} = $6::text::smallint and ${e.sequence} >= $2::text::int
    order by ${e.sequence} limit $4::text::int
  )
  select ${history} as history, (
    select json_agg(p order by p.sequence) from (select ${positionOfEvent} as position, e.* from stored e) p
    where p.position <= $3::text::bigint) as events`)

/** `$1`: milliseconds. */
const unreportedStatement = textOf(sql`
  select json_build_object('id', ${webhooks.id}, 'reason', ${webhooks.pausedReason}, 'pausedAt', ${webhooks.pausedAt})
    as pause from ${webhooks}
  where not ${webhooks.pauseReported} and ${isPaused} and ($1::text::int = 0
    or ${webhooks.pausedAt} < clock_timestamp() - $1::text::int * interval '1 ms')
  order by ${webhooks.id} limit 100`)

/** `$1`: text of a uuid array. */
const reportedStatement = textOf(
  build
    .update(webhooks)
    .set({ pauseReported: sql`true` })
    .where(sql`${webhooks.id} = any($1::text::uuid[])`)
    .returning(itsId),
)

interface LoadedRow {
  readonly webhook: WebhookRow
  readonly history: string | null
  readonly blocked: readonly BlockedRow[] | null
}

type BlockedRow = JsonRow<typeof webhookBlocked>

interface HeadsRow {
  readonly active: readonly WebhookHead[]
  readonly paused: number
  readonly isReportMissing: boolean
}

type IdRow = { readonly id: string }

/** The work for the webhooks of a database. */
export function createWebhookWork(database: Database): WebhookWork {
  const idsOf = async (text: string, parameters: readonly (string | null)[]): Promise<readonly string[]> =>
    (await database.write<IdRow>(text, parameters)).map(({ id }) => id)
  return {
    heads: async () => {
      const [row] = await database.query<HeadsRow>(headsStatement)
      if (!row) throw new TypeError('a look at the webhooks returned no row')
      return row
    },
    claim: (owner, leaseMs) => idsOf(claimStatement, [owner, String(leaseMs)]),
    renew: (owner, leaseMs) => idsOf(renewStatement, [owner, String(leaseMs)]),
    release: async (owner) => void (await idsOf(releaseStatement, [owner])),
    load: async (owner, ids) => {
      const rows = await database.query<LoadedRow>(loadStatement, [owner, `{${ids.join(',')}}`])
      return rows.map(loadedOfRow)
    },
    adoptGeneration: async (id, generation) => void (await idsOf(adoptGenerationStatement, [id, String(generation)])),
    save: async (progress) => (await idsOf(saveStatement, parametersOf(progress))).length > 0,
    waiting: async ({ dealId, sequence, upTo, limit, hidesDeleted }) => {
      type Row = { readonly history: string | null; readonly events: EventRow[] | null }
      const parameters = [dealId, sequence, upTo.position, limit, hidesDeleted, bucketOf(dealId)].map(String)
      const [row] = await database.query<Row>(waitingStatement, parameters)
      const history = requirePrimary(row?.history)
      return (row?.events ?? []).map((event) => eventOfRow(event, history))
    },
    unreportedPauses: async (olderThanMs) => {
      type Row = { readonly pause: { readonly id: string; readonly reason: PauseReason; readonly pausedAt: string } }
      const rows = await database.query<Row>(unreportedStatement, [String(olderThanMs)])
      return rows.map(({ pause }) => ({ ...pause, pausedAt: rfc3339OfRow(pause.pausedAt) }))
    },
    noteReported: async (ids) => void (await idsOf(reportedStatement, [`{${ids.join(',')}}`])),
  }
}

const loadedOfRow = ({ webhook, history, blocked }: LoadedRow): LoadedWebhook => ({
  webhook: webhookOfRow(webhook),
  place: { position: webhook.position, history: requirePrimary(history) },
  blocked: (blocked ?? []).map(
    (row): BlockedDeal => ({
      dealId: row.deal_id,
      sequence: row.sequence,
      attempts: row.attempts,
      nextAttemptAt: Date.parse(row.next_attempt_at),
      since: rfc3339OfRow(row.since),
    }),
  ),
})

function parametersOf({ health, blocked, unblocked, attempts, ...progress }: Progress): (string | null)[] {
  const { id, owner, revision, place, leaseMs, pausedReason, pausedAt } = progress
  const saved: SavedRow = {
    id,
    lease_owner: owner,
    revision,
    position: place.position,
    failures: health.failures,
    last_success_at: health.lastSuccessAt,
    last_failure_at: health.lastFailureAt,
    last_failure_status: health.lastFailureStatus,
    last_failure_reason: health.lastFailureReason,
    held_until: health.heldUntil,
    paused_reason: pausedReason,
    paused_at: pausedAt,
  }
  const rows: Omit<BlockedRow, 'webhook_id'>[] = blocked.map(
    ({ dealId, sequence, attempts: failed, nextAttemptAt, since }) => ({
      deal_id: dealId,
      sequence,
      attempts: failed,
      next_attempt_at: rfc3339(nextAttemptAt),
      since,
    }),
  )
  return [
    JSON.stringify(saved),
    String(leaseMs),
    place.history ?? null,
    JSON.stringify(rows),
    `{${unblocked.join(',')}}`,
    JSON.stringify(attempts.map(rowOfAttempt)),
  ]
}
