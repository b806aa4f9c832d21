/**
 * The statements of those who send events to webhooks. A lease says which server that is. Everything that a server
 * stores is stored only while it has the lease, the webhook is unchanged, and no other PostgreSQL server took over.
 */
import { and, eq, isNull, lt, or, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { rfc3339 } from '../../../shared/platform/clock.ts'
import type { Database, Statement } from '../../../shared/platform/database/database.ts'
import { build, type JsonRow, namesOf, parameters, sqlTextOf } from '../../../shared/platform/database/statement.ts'
import { historySql, requirePrimary } from '../../../shared/platform/history/history.ts'
import type {
  BlockedDeal,
  LoadedWebhook,
  PauseReason,
  Progress,
  WebhookHeads,
  WebhookWork,
} from '../../webhooks/ports.ts'
import { a, b, e, w } from '../aliases.ts'
import { type EventRow, eventOfRow } from '../event-log.ts'
import { isHidden, ownerOfEvent, positionOfEvent } from '../event-statements.ts'
import { bucketOf } from '../events/bucket.ts'
import { rfc3339OfRow } from '../rows.ts'
import { events, webhookAttempts, webhookBlocked, webhooks } from '../schema.ts'
import { type WebhookRow, webhookOfRow } from './webhook-rows.ts'
import { insertAttempts, rowOfAttempt } from './webhooks.ts'

const history = sql.raw(historySql)

/** The number of attempts of a webhook that are kept. */
const keptAttempts = 200
/** After this time another server reports a pause, in milliseconds. */
const reportedLateMs = 60_000

const isActive = eq(webhooks.state, sql`'active'`)
const isPaused = eq(webhooks.state, sql`'paused'`)
const isFree = or(isNull(webhooks.leaseUntil), lt(webhooks.leaseUntil, sql`clock_timestamp()`))

const headsStatement = sqlTextOf(sql`
  select coalesce((select json_agg(json_build_object('id', ${webhooks.id}, 'revision', ${webhooks.revision},
      'owner', ${webhooks.leaseOwner}, 'isFree', ${isFree})) from ${webhooks} where ${isActive}), '[]') as active,
    (select to_json(count(*)) from ${webhooks} where ${isPaused}) as paused,
    (select to_json(count(*) > 0) from ${webhooks} where not ${webhooks.pauseReported}
      and ${webhooks.pausedAt} < clock_timestamp() - interval '${sql.raw(String(reportedLateMs))} ms')
      as "isReportMissing"`)

const leased = parameters({ server: 'uuid', leaseMs: 'int' })
const isOwn = eq(webhooks.leaseOwner, leased.server)
const lease = sql`clock_timestamp() + ${leased.leaseMs} * interval '1 ms'`
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
const claimStatement = leased.statement(
  build
    .with(free)
    .update(webhooks)
    .set({ leaseOwner: leased.server, leaseUntil: lease })
    .from(free)
    .where(eq(webhooks.id, free.id))
    .returning(itsId),
)

const renewStatement = leased.statement(
  build.update(webhooks).set({ leaseUntil: lease }).where(and(isOwn, isActive)).returning(itsId),
)

const released = parameters({ server: 'uuid' })
const releaseStatement = released.statement(
  build.update(webhooks).set({ leaseOwner: sql`null`, leaseUntil: sql`null` }).where(isOwn).returning(itsId),
)

const loaded = parameters({ server: 'uuid', ids: 'uuid[]' })
const loadStatement = loaded.statement(sql`
  select to_json(w) as webhook, ${history} as history,
    (select json_agg(b) from ${webhookBlocked} ${b} where ${b.webhookId} = ${w.id}) as blocked
  from ${webhooks} ${w}
  where ${w.id} = any(${loaded.ids}) and ${w.leaseOwner} = ${loaded.server} and ${w.state} = 'active'`)

const adopted = parameters({ id: 'uuid', generation: 'int' })
const adoptGenerationStatement = adopted.statement(
  build
    .update(webhooks)
    .set({ responsibleGeneration: adopted.generation })
    .where(and(eq(webhooks.id, adopted.id), isNull(webhooks.responsibleGeneration)))
    .returning(itsId),
)

/** The columns of a webhook that progress changes. */
type SavedRow = Omit<Partial<WebhookRow>, 'lease_until'>

const r = alias(webhooks, 'r')
const excluded = alias(webhookBlocked, 'excluded')
const o = alias(webhookAttempts, 'o')

const progress = parameters({
  saved: 'json',
  leaseMs: 'int',
  history: 'text | null',
  blocked: 'json',
  unblocked: 'uuid[]',
  attempts: 'json',
})
/** `saved`: `SavedRow`; `blocked` and `attempts`: rows. */
const saveStatement = progress.statement(sql`
  with held as (
    update ${webhooks} ${w} set
      (${namesOf(webhooks, 'position', 'failures', 'heldUntil')},
        ${namesOf(webhooks, 'lastSuccessAt', 'lastFailureAt', 'lastFailureStatus', 'lastFailureReason')},
        ${namesOf(webhooks, 'pausedReason', 'pausedAt', 'pauseReported', 'state', 'leaseUntil')}) =
      (${r.position}, ${r.failures}, ${r.heldUntil},
        ${r.lastSuccessAt}, ${r.lastFailureAt}, ${r.lastFailureStatus}, ${r.lastFailureReason},
        ${r.pausedReason}, ${r.pausedAt}, ${r.pausedReason} is null,
        case when ${r.pausedReason} is null then 'active' else 'paused' end, ${lease})
    from json_populate_record(null::${webhooks}, ${progress.saved}) ${r}
    where ${w.id} = ${r.id} and ${w.leaseOwner} = ${r.leaseOwner} and ${w.revision} = ${r.revision}
      and ${w.state} = 'active' and ${history} = ${progress.history}
    returning ${w.id}
  ),
  blocked as (
    insert into ${webhookBlocked}
      (${namesOf(webhookBlocked, 'webhookId', 'dealId', 'sequence', 'attempts', 'nextAttemptAt', 'since')})
    select held.id, ${b.dealId}, ${b.sequence}, ${b.attempts}, ${b.nextAttemptAt}, ${b.since}
    from held, json_populate_recordset(null::${webhookBlocked}, ${progress.blocked}) ${b}
    on conflict (${namesOf(webhookBlocked, 'webhookId', 'dealId')}) do update
      set (${namesOf(webhookBlocked, 'sequence', 'attempts', 'nextAttemptAt', 'since')}) =
        (${excluded.sequence}, ${excluded.attempts}, ${excluded.nextAttemptAt}, ${excluded.since})
  ),
  freed as (
    delete from ${webhookBlocked} ${b} using held
    where ${b.webhookId} = held.id and ${b.dealId} = any(${progress.unblocked})
  ),
  noted as (${insertAttempts(sql`held`, progress.attempts)}),
  forgotten as (
    delete from ${webhookAttempts} ${a} using held where ${a.webhookId} = held.id and ${a.id} <= (
      select ${o.id} from ${webhookAttempts} ${o} where ${o.webhookId} = held.id order by ${o.id} desc
      offset ${sql.raw(String(keptAttempts))} limit 1)
  )
  select id from held`)

const waiting = parameters({
  dealId: 'uuid',
  sequence: 'int',
  upTo: 'bigint',
  limit: 'int',
  hidesDeleted: 'boolean',
  bucket: 'smallint',
})
const waitingStatement = waiting.statement(sql`
  with stored as materialized (
    select e.*, ${waiting.hidesDeleted} and ${isHidden(waiting.dealId, waiting.bucket)} as is_hidden,
      ${ownerOfEvent(waiting.dealId, waiting.bucket)}
    from ${events} ${e}
    where ${e.dealId} = ${waiting.dealId} and ${e.bucket} = ${waiting.bucket} and ${e.sequence} >= ${waiting.sequence}
    order by ${e.sequence} limit ${waiting.limit}
  )
  select ${history} as history, (
    select json_agg(p order by p.sequence) from (select ${positionOfEvent} as position, e.* from stored e) p
    where p.position <= ${waiting.upTo}) as events`)

const unreported = parameters({ olderThanMs: 'int' })
const unreportedStatement = unreported.statement(sql`
  select json_build_object('id', ${webhooks.id}, 'reason', ${webhooks.pausedReason}, 'pausedAt', ${webhooks.pausedAt})
    as pause from ${webhooks}
  where not ${webhooks.pauseReported} and ${isPaused} and (${unreported.olderThanMs} = 0
    or ${webhooks.pausedAt} < clock_timestamp() - ${unreported.olderThanMs} * interval '1 ms')
  order by ${webhooks.id} limit 100`)

const reported = parameters({ ids: 'uuid[]' })
const reportedStatement = reported.statement(
  build
    .update(webhooks)
    .set({ pauseReported: sql`true` })
    .where(sql`${webhooks.id} = any(${reported.ids})`)
    .returning(itsId),
)

interface LoadedRow {
  readonly webhook: WebhookRow
  readonly history: string | null
  readonly blocked: readonly BlockedRow[] | null
}

type BlockedRow = JsonRow<typeof webhookBlocked>

type IdRow = { readonly id: string }

/** The work for the webhooks of a database. */
export function createWebhookWork(database: Database): WebhookWork {
  const idsOf = async (statement: Statement): Promise<readonly string[]> =>
    (await database.write<IdRow>(...statement)).map(({ id }) => id)
  return {
    heads: async () => {
      const [row] = await database.query<WebhookHeads>(headsStatement)
      if (!row) throw new TypeError('a look at the webhooks returned no row')
      return row
    },
    claim: (server, leaseMs) => idsOf(claimStatement({ server, leaseMs })),
    renew: (server, leaseMs) => idsOf(renewStatement({ server, leaseMs })),
    release: async (server) => void (await idsOf(releaseStatement({ server }))),
    load: async (server, ids) => {
      const rows = await database.query<LoadedRow>(...loadStatement({ server, ids }))
      return rows.map(loadedOfRow)
    },
    adoptGeneration: async (id, generation) => void (await idsOf(adoptGenerationStatement({ id, generation }))),
    save: async (progress) => (await idsOf(saveOf(progress))).length > 0,
    waiting: async ({ dealId, sequence, upTo, limit, hidesDeleted }) => {
      type Row = { readonly history: string | null; readonly events: EventRow[] | null }
      const statement = waitingStatement({
        dealId,
        sequence,
        upTo: upTo.position,
        limit,
        hidesDeleted,
        bucket: bucketOf(dealId),
      })
      const [row] = await database.query<Row>(...statement)
      const history = requirePrimary(row?.history)
      return (row?.events ?? []).map((event) => eventOfRow(event, history))
    },
    unreportedPauses: async (olderThanMs) => {
      type Row = { readonly pause: { readonly id: string; readonly reason: PauseReason; readonly pausedAt: string } }
      const rows = await database.query<Row>(...unreportedStatement({ olderThanMs }))
      return rows.map(({ pause }) => ({ ...pause, pausedAt: rfc3339OfRow(pause.pausedAt) }))
    },
    noteReported: async (ids) => void (await idsOf(reportedStatement({ ids }))),
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

function saveOf({ health, blocked, unblocked, attempts, ...progress }: Progress): Statement {
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
  return saveStatement({
    saved,
    leaseMs,
    history: place.history ?? null,
    blocked: rows,
    unblocked,
    attempts: attempts.map(rowOfAttempt),
  })
}
