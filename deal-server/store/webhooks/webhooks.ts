/** The webhooks in PostgreSQL, as clients manage them. The statements of those who send events: `webhook-work.ts`. */
import { and, desc, eq, lt, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Database } from '../../../shared/platform/database/database.ts'
import { build, type JsonRow, namesOf, parameters, statementOf } from '../../../shared/platform/database/statement.ts'
import { historySql } from '../../../shared/platform/history/history.ts'
import { type PageRequest, pageOfRows } from '../../../shared/platform/pagination.ts'
import type {
  Attempt,
  NewWebhook,
  Responsible,
  Webhook,
  WebhookChange,
  WebhookStore,
  WebhookView,
} from '../../webhooks/ports.ts'
import { a, b, e, w } from '../aliases.ts'
import { happenedAfter, positionOfEvent } from '../event-statements.ts'
import { events, webhookAttempts, webhookBlocked, webhooks } from '../schema.ts'
import { attemptOfRow, viewOfRow, type WaitingRow } from './webhook-rows.ts'

/** The webhooks that `chosen` selects. */
const viewsOf = (chosen: SQL): SQL => sql`
  with w as materialized (${chosen}), ${happenedAfter(sql`w`)}
  select to_json(w) as webhook, ${sql.raw(historySql)} as history,
    (select json_build_object('count', count(*), 'next', min(${b.nextAttemptAt}), 'since', min(${b.since}))
      from ${webhookBlocked} ${b} where ${b.webhookId} = ${w.id}) as blocked,
    (select to_json(h.occurred_at) from happened h where h.of_row = ${w.id} order by h.position limit 1) as behind_since
  from w order by ${w.id}`

const found = parameters({ id: 'uuid' })
const findStatement = found.statement(viewsOf(sql`select * from ${webhooks} where ${webhooks.id} = ${found.id}`))

const page = parameters({ after: 'uuid | null', limit: 'int' })
/** Ids grow with time. */
const listStatement = page.statement(
  viewsOf(sql`select * from ${webhooks}
    where ${page.after} is null or ${webhooks.id} > ${page.after} order by ${webhooks.id} limit ${page.limit}`),
)

const rewound = parameters({ id: 'uuid', position: 'bigint', at: 'timestamptz' })
/** Deals that wait behind an event after this position wait no more: the log is read again from there. */
const rewindStatement = rewound.statement(sql`
  with waiting as materialized (
    select ${b.dealId}, ${b.sequence}, deals.bucket_of(${b.dealId}) as bucket from ${webhookBlocked} ${b}
    where ${b.webhookId} = ${rewound.id}
  ),
  stored as materialized (
    select e.* from waiting b cross join lateral (
      select distinct on (${e.bucket}, ${e.number}) ${e.dealId}, ${e.bucket}, ${e.number} from ${events} ${e}
      where ${e.dealId} = ${b.dealId} and ${e.bucket} = b.bucket and ${e.sequence} = ${b.sequence}) e
  ),
  rewound as (
    update ${webhooks} ${w} set (${namesOf(webhooks, 'position', 'updatedAt', 'revision')}) =
      (${rewound.position}, ${rewound.at}, ${w.revision} + 1)
    where ${w.id} = ${rewound.id} and ${w.position} > ${rewound.position}
    returning ${w.id}
  ),
  freed as (
    delete from ${webhookBlocked} ${b} using rewound, stored e
    where ${b.webhookId} = rewound.id and ${b.dealId} = ${e.dealId} and ${positionOfEvent} > ${rewound.position}
    returning ${b.dealId}
  )
  select id from rewound`)

/** Inserts attempts for each webhook of `source`, which has an `id`. `attempts` are rows as JSON. */
export const insertAttempts = (source: SQLWrapper, attempts: SQL): SQL => sql`
    insert into ${webhookAttempts} (${namesOf(webhookAttempts, 'webhookId', 'eventId', 'type', 'dealId', 'attempt')},
      ${namesOf(webhookAttempts, 'at', 'durationMs', 'outcome', 'status', 'reason')})
    select ${source}.id, ${a.eventId}, ${a.type}, ${a.dealId}, ${a.attempt}, ${a.at}, ${a.durationMs}, ${a.outcome},
      ${a.status}, ${a.reason}
    from ${source}, json_populate_recordset(null::${webhookAttempts}, ${attempts}) ${a}`

const noted = parameters({ id: 'uuid', attempts: 'json' })
/** Only the last attempts stay. */
const noteAttemptStatement = noted.statement(sql`
  with noted as (select ${webhooks.id} from ${webhooks} where ${webhooks.id} = ${noted.id})
  ${insertAttempts(sql`noted`, noted.attempts)}`)

/** An attempt as a row. */
export const rowOfAttempt = (attempt: Attempt): Omit<JsonRow<typeof webhookAttempts>, 'id' | 'webhook_id'> => ({
  event_id: attempt.eventId,
  type: attempt.type,
  deal_id: attempt.dealId,
  attempt: attempt.attempt,
  at: attempt.at,
  duration_ms: attempt.durationMs,
  outcome: attempt.outcome,
  status: attempt.status,
  reason: attempt.reason,
})

const columnsOfResponsible = ({ username, userId, seesDeleted, generation }: Responsible) => ({
  responsible: username,
  responsibleUserId: userId,
  responsibleGeneration: generation,
  seesDeleted,
})

const rowOfNew = ({ sealedSecret, responsible, at, ...webhook }: NewWebhook): typeof webhooks.$inferInsert => ({
  state: 'active',
  pauseReported: true,
  createdBy: responsible.username,
  createdAt: at,
  updatedAt: at,
  secret: sealedSecret,
  revision: 1,
  failures: 0,
  ...webhook,
  ...columnsOfResponsible(responsible),
})

/** One that becomes active begins again. The server that sends its events notices the revision. */
const columnsOfChange = ({ responsible, at, ...settings }: WebhookChange) => ({
  updatedAt: at,
  revision: sql`${webhooks.revision} + 1`,
  ...settings,
  ...columnsOfResponsible(responsible),
  ...(settings.state && columnsOfState(settings.state, at)),
})

const columnsOfState = (state: Webhook['state'], at: string) => ({
  pausedReason: state === 'paused' ? sql`coalesce(${webhooks.pausedReason}, 'by-user')` : null,
  pausedAt: state === 'paused' ? sql`coalesce(${webhooks.pausedAt}, ${at}::text::timestamptz)` : null,
  pauseReported: state === 'active' ? true : webhooks.pauseReported,
  failures: sql`case when ${webhooks.state} = ${state}::text then ${webhooks.failures} else 0 end`,
  heldUntil: sql`case when ${webhooks.state} = ${state}::text then ${webhooks.heldUntil} end`,
})

/** The webhooks of a database. */
export function createWebhookStore(database: Database): WebhookStore {
  const find = async (id: string): Promise<WebhookView | undefined> => {
    const [row] = await database.query<WaitingRow>(...findStatement({ id }))
    return row && viewOfRow(row)
  }
  return {
    create: async (webhook, max) => {
      const isRoom = await database.transaction(async (transaction) => {
        if ((await transaction.$count(webhooks)) >= max) return false
        await transaction.insert(webhooks).values(rowOfNew(webhook))
        return true
      })
      return isRoom ? find(webhook.id) : undefined
    },
    list: async ({ limit, after: position }) => {
      const rows = await database.query<WaitingRow>(...listStatement({ after: firstOf(position), limit: limit + 1 }))
      return pageOfRows(rows, limit, { item: viewOfRow, position: ({ webhook }) => [webhook.id] })
    },
    find,
    change: async (id, change) => {
      await database.transaction(async (transaction) => {
        const isIt = eq(webhooks.id, id)
        const [changed] = await transaction.update(webhooks).set(columnsOfChange(change)).where(isIt).returning()
        if (changed?.failures !== 0) return
        const tried = { attempts: 0, nextAttemptAt: change.at }
        await transaction.update(webhookBlocked).set(tried).where(eq(webhookBlocked.webhookId, id))
      })
      return find(id)
    },
    remove: async (id) => {
      const removal = build.delete(webhooks).where(eq(webhooks.id, id)).returning({ id: webhooks.id })
      return (await database.write(...statementOf(removal))).length > 0
    },
    // A webhook whose secret could not be opened goes on by hand.
    replaceSecrets: async (id, secrets, updatedAt) => {
      const columns = { ...secrets, updatedAt, revision: sql`${webhooks.revision} + 1` }
      await database.write(...statementOf(build.update(webhooks).set(columns).where(eq(webhooks.id, id))))
      return find(id)
    },
    rewind: async (id, position, at) => {
      await database.write(...rewindStatement({ id, position, at }))
      return find(id)
    },
    attempts: async (id, { limit, after }) => {
      const rows = await database.drizzle
        .select()
        .from(webhookAttempts)
        .where(and(eq(webhookAttempts.webhookId, id), after && lt(webhookAttempts.id, Number(after[0]))))
        .orderBy(desc(webhookAttempts.id))
        .limit(limit + 1)
      return pageOfRows(rows, limit, { item: attemptOfRow, position: (attempt) => [attempt.id] })
    },
    noteAttempt: async (id, attempt) => {
      await database.write(...noteAttemptStatement({ id, attempts: [rowOfAttempt(attempt)] }))
    },
    sealedSecrets: () => {
      const { id, secret, formerSecret, formerSecretUntil } = webhooks
      return database.drizzle.select({ id, secret, formerSecret, formerSecretUntil }).from(webhooks)
    },
    reseal: async (id, before, { secret, formerSecret }) => {
      const isFormer = sql`${webhooks.formerSecret} is not distinct from ${before.formerSecret}`
      const isUnchanged = and(eq(webhooks.id, id), eq(webhooks.secret, before.secret), isFormer)
      await database.write(...statementOf(build.update(webhooks).set({ secret, formerSecret }).where(isUnchanged)))
    },
  }
}

const firstOf = (position: PageRequest['after']): string | null =>
  position === undefined ? null : String(position[0] ?? '')
