/** The webhooks in PostgreSQL, as clients manage them. The statements of those who send events: `webhook-work.ts`. */
import type { Database } from '../../shared/platform/database/database.ts'
import { historySql } from '../../shared/platform/history/history.ts'
import { type PageRequest, pageOfRows } from '../../shared/platform/pagination.ts'
import type {
  Attempt,
  NewWebhook,
  Responsible,
  SealedSecrets,
  WebhookChange,
  WebhookStore,
  WebhookView,
} from '../webhooks/ports.ts'
import { happenedAfter, positionOf } from './events/event-statements.ts'
import { type AttemptRow, attemptOfRow, viewOfRow, type WaitingRow } from './webhook-rows.ts'

/** The webhooks that `chosen` selects. */
const viewsOf = (chosen: string): string => `
  with w as materialized (${chosen}), ${happenedAfter('w')}
  select to_json(w) as webhook, ${historySql} as history,
    (select json_build_object('count', count(*), 'next', min(b.next_attempt_at), 'since', min(b.since))
      from deals.webhook_blocked b where b.webhook_id = w.id) as blocked,
    (select to_json(h.occurred_at) from happened h where h.of_row = w.id order by h.position limit 1) as behind_since
  from w order by w.id`

const findStatement = viewsOf('select * from deals.webhooks where id = $1::text::uuid')

/** `$1`: an id or null; `$2`: the limit. Ids grow with time. */
const listStatement = viewsOf(`select * from deals.webhooks
    where $1::text is null or id > $1::text::uuid order by id limit $2::text::int`)

/** `$1`: the row; `$2`: the largest number of webhooks. */
const createStatement = `
  insert into deals.webhooks (id, url, types, deals, description, state, pause_reported, created_by, created_at,
    updated_at, responsible, responsible_user_id, responsible_generation, sees_deleted, secret, revision, position, failures)
  select r.id, r.url, r.types, r.deals, r.description, 'active', true, r.responsible, r.created_at, r.created_at,
    r.responsible, r.responsible_user_id, r.responsible_generation, r.sees_deleted, r.secret, 1, r.position, 0
  from json_populate_record(null::deals.webhooks, $1::text::json) r
  where (select count(*) from deals.webhooks) < $2::text::int
  returning to_json(id) as id`

/**
 * `$1`: an id; `$2`: the changed columns. One that becomes active begins anew: what waits is tried at once. The server
 * that sends its events notices the revision.
 */
const changeStatement = `
  with changed as (
    update deals.webhooks w set (url, types, deals, description, state, paused_reason, paused_at, pause_reported,
        responsible, responsible_user_id, responsible_generation, sees_deleted, updated_at, failures, held_until, revision) =
      (select r.url, r.types, r.deals, r.description, r.state,
          case when r.state = 'paused' then coalesce(w.paused_reason, 'by-user') end,
          case when r.state = 'paused' then coalesce(w.paused_at, r.updated_at) end,
          r.state = 'active' or w.pause_reported,
          r.responsible, r.responsible_user_id, r.responsible_generation, r.sees_deleted, r.updated_at,
          case when r.state = w.state then w.failures else 0 end,
          case when r.state = w.state then w.held_until end,
          w.revision + 1
        from json_populate_record(w, $2::text::json) r)
    where w.id = $1::text::uuid
    returning w.id, w.updated_at, w.failures
  ),
  tried as (
    update deals.webhook_blocked b set attempts = 0, next_attempt_at = c.updated_at
    from changed c where b.webhook_id = c.id and c.failures = 0
    returning b.deal_id
  )
  select to_json(id) as id from changed`

/** `$1`: an id; `$2`: secrets; `$3`: the time. A webhook whose secret could not be opened goes on by hand. */
const replaceSecretsStatement = `
  update deals.webhooks w set (secret, former_secret, former_secret_until, updated_at, revision) =
    (select r.secret, r.former_secret, r.former_secret_until, $3::text::timestamptz, w.revision + 1
      from json_populate_record(null::deals.webhooks, $2::text::json) r)
  where w.id = $1::text::uuid
  returning to_json(w.id) as id`

/**
 * `$1`: an id; `$2`: a position; `$3`: the time. Deals that wait behind an event after this position wait no more: the
 * log is read again from there.
 */
const rewindStatement = `
  with waiting as materialized (
    select deal_id, sequence, deals.bucket_of(deal_id) as bucket from deals.webhook_blocked
    where webhook_id = $1::text::uuid
  ),
  stored as materialized (
    select e.* from waiting b cross join lateral (
      select distinct on (e.bucket, e.number) e.deal_id, e.bucket, e.number from deals.events e
      where e.deal_id = b.deal_id and e.bucket = b.bucket and e.sequence = b.sequence) e
  ),
  rewound as (
    update deals.webhooks w set position = $2::text::bigint, updated_at = $3::text::timestamptz,
      revision = w.revision + 1
    where w.id = $1::text::uuid and w.position > $2::text::bigint
    returning w.id
  ),
  freed as (
    delete from deals.webhook_blocked b using rewound r, stored e
    where b.webhook_id = r.id and b.deal_id = e.deal_id and ${positionOf('e')} > $2::text::bigint
    returning b.deal_id
  )
  select to_json(id) as id from rewound`

const removeStatement = 'delete from deals.webhooks where id = $1::text::uuid returning to_json(id) as id'

/** `$1`: the id of a webhook; `$2`: an id of an attempt or null; `$3`: the limit. */
const attemptsStatement = `select to_json(a) as attempt from deals.webhook_attempts a
  where a.webhook_id = $1::text::uuid and ($2::text is null or a.id < $2::text::bigint)
  order by a.id desc limit $3::text::int`

/** `$1`: the id of a webhook; `$2`: rows of attempts. Only the last of them stay. */
const noteAttemptStatement = `
  insert into deals.webhook_attempts (webhook_id, event_id, type, deal_id, attempt, at, duration_ms, outcome, status,
    reason)
  select w.id, a.event_id, a.type, a.deal_id, a.attempt, a.at, a.duration_ms, a.outcome, a.status, a.reason
  from deals.webhooks w, json_populate_recordset(null::deals.webhook_attempts, $2::text::json) a
  where w.id = $1::text::uuid
  returning to_json(id) as id`

const sealedStatement = `select to_json(w) as sealed from (
    select id, secret, former_secret, former_secret_until from deals.webhooks) w`

/** `$1`: an id; `$2`: the texts before; `$3`: the new texts. */
const resealStatement = `
  update deals.webhooks w set secret = n.secret, former_secret = n.former_secret
  from json_populate_record(null::deals.webhooks, $2::text::json) o,
    json_populate_record(null::deals.webhooks, $3::text::json) n
  where w.id = $1::text::uuid and w.secret = o.secret and w.former_secret is not distinct from o.former_secret
  returning to_json(w.id) as id`

interface SealedRow {
  readonly id: string
  readonly secret: string
  readonly former_secret: string | null
  readonly former_secret_until: string | null
}

const rowOfSecrets = ({ secret, formerSecret, formerSecretUntil }: SealedSecrets) =>
  JSON.stringify({ secret, former_secret: formerSecret, former_secret_until: formerSecretUntil })

/** An attempt as a row. */
export const rowOfAttempt = ({ eventId, type, dealId, attempt, at, durationMs, outcome, status, reason }: Attempt) => ({
  event_id: eventId,
  type,
  deal_id: dealId,
  attempt,
  at,
  duration_ms: durationMs,
  outcome,
  status,
  reason,
})

const columnsOfResponsible = ({ username, userId, seesDeleted, generation }: Responsible) => ({
  responsible: username,
  responsible_user_id: userId,
  responsible_generation: generation,
  sees_deleted: seesDeleted,
})

const rowOfNew = ({ id, url, types, deals, description, sealedSecret, responsible, at, position }: NewWebhook) => ({
  id,
  url,
  types,
  deals,
  description,
  secret: sealedSecret,
  created_at: at,
  position,
  ...columnsOfResponsible(responsible),
})

const rowOfChange = ({ responsible, at, ...settings }: WebhookChange) => ({
  ...settings,
  ...columnsOfResponsible(responsible),
  updated_at: at,
})

/** The webhooks of a database. */
export function createWebhookStore(database: Database): WebhookStore {
  const find = async (id: string): Promise<WebhookView | undefined> => {
    const [row] = await database.query<WaitingRow>(findStatement, [id])
    return row && viewOfRow(row)
  }
  /** Runs a write that answers the id, and reads the result. */
  const written = async (id: string, text: string, parameters: readonly string[]) => {
    const rows = await database.write(text, parameters)
    return rows.length === 0 ? undefined : find(id)
  }
  return {
    create: (webhook, max) => written(webhook.id, createStatement, [JSON.stringify(rowOfNew(webhook)), String(max)]),
    list: async ({ limit, after: position }) => {
      const rows = await database.query<WaitingRow>(listStatement, [firstOf(position), String(limit + 1)])
      return pageOfRows(rows, limit, { item: viewOfRow, position: ({ webhook }) => [webhook.id] })
    },
    find,
    change: (id, change) => written(id, changeStatement, [id, JSON.stringify(rowOfChange(change))]),
    remove: async (id) => (await database.write(removeStatement, [id])).length > 0,
    replaceSecrets: (id, secrets, at) => written(id, replaceSecretsStatement, [id, rowOfSecrets(secrets), at]),
    rewind: async (id, position, at) => {
      await database.write(rewindStatement, [id, String(position), at])
      return find(id)
    },
    attempts: async (id, { limit, after: position }) => {
      type Row = { readonly attempt: AttemptRow }
      const rows = await database.query<Row>(attemptsStatement, [id, firstOf(position), String(limit + 1)])
      return pageOfRows(rows, limit, {
        item: ({ attempt }) => attemptOfRow(attempt),
        position: ({ attempt }) => [attempt.id],
      })
    },
    noteAttempt: async (id, attempt) => {
      await database.write(noteAttemptStatement, [id, JSON.stringify([rowOfAttempt(attempt)])])
    },
    sealedSecrets: async () => {
      const rows = await database.query<{ readonly sealed: SealedRow }>(sealedStatement)
      return rows.map(({ sealed: { id, secret, former_secret, former_secret_until } }) => ({
        id,
        secret,
        formerSecret: former_secret,
        formerSecretUntil: former_secret_until,
      }))
    },
    reseal: async (id, before, sealed) => {
      await database.write(resealStatement, [id, rowOfSecrets(before), rowOfSecrets(sealed)])
    },
  }
}

const firstOf = (position: PageRequest['after']): string | null =>
  position === undefined ? null : String(position[0] ?? '')
