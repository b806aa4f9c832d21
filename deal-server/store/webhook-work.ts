/**
 * The statements of those who send events to webhooks. A lease says which server that is. Everything that a server
 * stores is stored only while it has the lease, the webhook is unchanged, and no other PostgreSQL server took over.
 */

import { rfc3339 } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { historySql, requirePrimary } from '../../shared/platform/history/history.ts'
import type { BlockedDeal, LoadedWebhook, PauseReason, Progress, WebhookHead, WebhookWork } from '../webhooks/ports.ts'
import { type EventRow, eventOfRow } from './event-log.ts'
import { bucketOf } from './events/bucket.ts'
import { isHidden, positionOf } from './events/event-statements.ts'
import { rfc3339OfRow } from './rows.ts'
import { type WebhookRow, webhookOfRow } from './webhook-rows.ts'
import { rowOfAttempt } from './webhooks.ts'

/** So many attempts of a webhook are kept. */
const keptAttempts = 200
/** After this time another server reports a pause, in milliseconds. */
const reportedLateMs = 60_000

const headsStatement = `
  select coalesce((select json_agg(json_build_object('id', id, 'revision', revision, 'owner', lease_owner,
      'isFree', lease_until is null or lease_until < clock_timestamp())) from deals.webhooks where state = 'active'),
      '[]') as active,
    (select to_json(count(*)) from deals.webhooks where state = 'paused') as paused,
    (select to_json(count(*) > 0) from deals.webhooks where not pause_reported
      and paused_at < clock_timestamp() - interval '${reportedLateMs} ms') as "isReportMissing"`

const lease = (parameter: string) => `clock_timestamp() + ${parameter}::text::int * interval '1 ms'`

/** `$1`: the server; `$2`: milliseconds. */
const claimStatement = `
  with free as materialized (
    select w.id from deals.webhooks w
    where w.state = 'active' and (w.lease_until is null or w.lease_until < clock_timestamp())
    order by w.id for update skip locked
  )
  update deals.webhooks w set lease_owner = $1::text::uuid, lease_until = ${lease('$2')}
  from free where w.id = free.id
  returning to_json(w.id) as id`

const renewStatement = `
  update deals.webhooks set lease_until = ${lease('$2')}
  where lease_owner = $1::text::uuid and state = 'active'
  returning to_json(id) as id`

const releaseStatement = `
  update deals.webhooks set lease_owner = null, lease_until = null where lease_owner = $1::text::uuid
  returning to_json(id) as id`

/** `$1`: the server; `$2`: text of a uuid array. */
const loadStatement = `
  select to_json(w) as webhook, ${historySql} as history,
    (select json_agg(b) from deals.webhook_blocked b where b.webhook_id = w.id) as blocked
  from deals.webhooks w
  where w.id = any($2::text::uuid[]) and w.lease_owner = $1::text::uuid and w.state = 'active'`

/** `$1`: an id; `$2`: a credential generation. */
const adoptGenerationStatement = `
  update deals.webhooks set responsible_generation = $2::text::int
  where id = $1::text::uuid and responsible_generation is null
  returning to_json(id) as id`

/** `$1`: `SavedRow`; `$2`, `$4`: rows of blocked deals and attempts; `$3`: text of a uuid array. */
const saveStatement = `
  with held as (
    update deals.webhooks w set position = i.position, failures = i.failures, last_success_at = i.last_success_at,
      last_failure_at = i.last_failure_at, last_failure_status = i.last_failure_status,
      last_failure_reason = i.last_failure_reason, held_until = i.held_until,
      lease_until = clock_timestamp() + i.lease_ms * interval '1 ms',
      state = case when i.paused_reason is null then 'active' else 'paused' end, paused_reason = i.paused_reason,
      paused_at = i.paused_at, pause_reported = i.paused_reason is null
    from json_to_record($1::text::json) as i(id uuid, owner uuid, revision int, history text, lease_ms int,
      position bigint, failures int, last_success_at timestamptz, last_failure_at timestamptz, last_failure_status int,
      last_failure_reason text, held_until timestamptz, paused_reason text, paused_at timestamptz)
    where w.id = i.id and w.lease_owner = i.owner and w.revision = i.revision and w.state = 'active'
      and ${historySql} = i.history
    returning w.id
  ),
  blocked as (
    insert into deals.webhook_blocked (webhook_id, deal_id, sequence, attempts, next_attempt_at, since)
    select h.id, b.deal_id, b.sequence, b.attempts, b.next_attempt_at, b.since
    from held h, json_populate_recordset(null::deals.webhook_blocked, $2::text::json) b
    on conflict (webhook_id, deal_id) do update set sequence = excluded.sequence, attempts = excluded.attempts,
      next_attempt_at = excluded.next_attempt_at, since = excluded.since
  ),
  freed as (
    delete from deals.webhook_blocked b using held h where b.webhook_id = h.id and b.deal_id = any($3::text::uuid[])
  ),
  noted as (
    insert into deals.webhook_attempts (webhook_id, event_id, type, deal_id, attempt, at, duration_ms, outcome, status,
      reason)
    select h.id, a.event_id, a.type, a.deal_id, a.attempt, a.at, a.duration_ms, a.outcome, a.status, a.reason
    from held h, json_populate_recordset(null::deals.webhook_attempts, $4::text::json) a
  ),
  forgotten as (
    delete from deals.webhook_attempts a using held h where a.webhook_id = h.id and a.id <= (
      select o.id from deals.webhook_attempts o where o.webhook_id = h.id order by o.id desc
      offset ${keptAttempts} limit 1)
  )
  select to_json(id) as id from held`

/**
 * `$1`: a deal; `$2`: a sequence; `$3`: a position; `$4`: the limit; `$5`: whether hidden events are marked; `$6`: the
 * deal's bucket.
 */
const waitingStatement = `
  with stored as materialized (
    select e.*, $5::text::boolean and ${isHidden('$1::text::uuid', '$6::text::smallint')} as is_hidden
    from deals.events e
    where e.deal_id = $1::text::uuid and e.bucket = $6::text::smallint and e.sequence >= $2::text::int
    order by e.sequence limit $4::text::int
  )
  select ${historySql} as history, (
    select json_agg(p order by p.sequence) from (select ${positionOf('e')} as position, e.* from stored e) p
    where p.position <= $3::text::bigint) as events`

/** `$1`: milliseconds. */
const unreportedStatement = `
  select json_build_object('id', id, 'reason', paused_reason, 'pausedAt', paused_at) as pause from deals.webhooks
  where not pause_reported and state = 'paused'
    and ($1::text::int = 0 or paused_at < clock_timestamp() - $1::text::int * interval '1 ms')
  order by id limit 100`

/** `$1`: text of a uuid array. */
const reportedStatement = `
  update deals.webhooks set pause_reported = true where id = any($1::text::uuid[]) returning to_json(id) as id`

interface LoadedRow {
  readonly webhook: WebhookRow
  readonly history: string | null
  readonly blocked: readonly BlockedRow[] | null
}

interface BlockedRow {
  readonly deal_id: string
  readonly sequence: number
  readonly attempts: number
  readonly next_attempt_at: string
  readonly since: string
}

interface HeadsRow {
  readonly active: readonly WebhookHead[]
  readonly paused: number
  readonly isReportMissing: boolean
}

type IdRow = { readonly id: string }

/** The work for the webhooks of a database. */
export function createWebhookWork(database: Database): WebhookWork {
  const idsOf = async (text: string, parameters: readonly string[]): Promise<readonly string[]> =>
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

function parametersOf({ health, blocked, unblocked, attempts, ...progress }: Progress): string[] {
  const { id, owner, revision, place, leaseMs, pausedReason, pausedAt } = progress
  const saved = {
    id,
    owner,
    revision,
    history: place.history,
    lease_ms: leaseMs,
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
  const rows = blocked.map(({ dealId, sequence, attempts: failed, nextAttemptAt, since }) => ({
    deal_id: dealId,
    sequence,
    attempts: failed,
    next_attempt_at: rfc3339(nextAttemptAt),
    since,
  }))
  return [
    JSON.stringify(saved),
    JSON.stringify(rows),
    `{${unblocked.join(',')}}`,
    JSON.stringify(attempts.map(rowOfAttempt)),
  ]
}
