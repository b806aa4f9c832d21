/**
 * The tables of the deal server, in their own PostgreSQL schema, which the auth server never reads. The checks repeat
 * the guarantees of the domain, so that no other writer can break them.
 */
import { sql } from 'drizzle-orm'
import {
  bigint,
  bigserial,
  boolean,
  char,
  check,
  date,
  index,
  integer,
  json,
  jsonb,
  pgSchema,
  primaryKey,
  smallint,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { digestCountsTable, usedSignaturesTable } from '../../shared/protocol/authentication/credential-tables.ts'
import type { CommandOutcome } from '../commands/ports.ts'
import type { Completion } from '../domain/deal-fields.ts'
import type { FailureReason, PauseReason } from '../webhooks/ports.ts'

/** The schema of all tables of the deal server. */
export const dealsSchema = pgSchema('deals')

const time = <Name extends string>(name: Name) => timestamp(name, { withTimezone: true, precision: 3, mode: 'string' })
/** Whole minor units; below 2^53, so exact as a JavaScript number. */
const minorUnits = <Name extends string>(name: Name) => bigint(name, { mode: 'number' })
/**
 * One of 1,024 parts of all deals and commands, see `events/bucket.ts`. It is the last column of every key, so that a
 * database can keep the rows of a bucket together, and find one without it.
 */
const bucket = () => smallint('bucket').notNull()

/** One row for each deal: its current state. */
export const deals = dealsSchema.table(
  'deals',
  {
    id: uuid('id').notNull(),
    name: text('name').notNull(),
    price: minorUnits('price').notNull(),
    currency: char('currency', { length: 3 }).notNull(),
    description: text('description'),
    completionDate: date('completion_date', { mode: 'string' }),
    ownerId: text('owner_id').notNull(),
    status: text('status', { enum: ['open', 'completed', 'cancelled'] }).notNull(),
    held: boolean('held').notNull(),
    holdReason: text('hold_reason'),
    holdReasonCode: text('hold_reason_code'),
    heldAt: time('held_at'),
    heldBy: text('held_by'),
    priceReason: text('price_reason'),
    completionDateReason: text('completion_date_reason'),
    completionDatePenalty: minorUnits('completion_date_penalty'),
    cancelReason: text('cancel_reason'),
    cancelPenalty: minorUnits('cancel_penalty'),
    cancelledAt: time('cancelled_at'),
    completion: jsonb('completion').$type<Completion>(),
    penaltyTotal: minorUnits('penalty_total').notNull(),
    /** The number of its rows in `tasks`: a read of a deal without tasks skips that table. */
    taskCount: integer('task_count').notNull(),
    version: integer('version').notNull(),
    sequence: integer('sequence').notNull(),
    createdAt: time('created_at').notNull(),
    createdBy: text('created_by').notNull(),
    updatedAt: time('updated_at').notNull(),
    updatedBy: text('updated_by').notNull(),
    deletedAt: time('deleted_at'),
    purgeAt: time('purge_at'),
    /** That of its id. */
    bucket: bucket(),
    /** The owner's immutable id; null in old rows. */
    ownerUserId: text('owner_user_id'),
  },
  (table) => [
    primaryKey({ name: 'deals_pkey', columns: [table.id, table.bucket] }),
    check('deals_held_has_reason', sql`${table.held} = (${table.holdReason} is not null)`),
    check('deals_held_is_open', sql`not (${table.held} and ${table.status} <> 'open')`),
    check('deals_cancelled_has_reason', sql`(${table.status} = 'cancelled') = (${table.cancelReason} is not null)`),
    check('deals_price_range', sql`${table.price} between 0 and 999999999999999`),
    check('deals_penalty_range', sql`${table.penaltyTotal} between 0 and 999999999999999`),
    check('deals_status', sql`${table.status} in ('open', 'completed', 'cancelled')`),
    // For lists, in both directions. No index has a column that most commands change (`updated_at`, `held`): then their
    // updates would write into every index instead of none. Measured on 1,000,000 deals: a third fewer updates each
    // second, and 2.5 times the WAL.
    index('deals_by_creation').on(table.createdAt, table.id).where(sql`${table.deletedAt} is null`),
    index('deals_by_status').on(table.status, table.createdAt, table.id).where(sql`${table.deletedAt} is null`),
    index('deals_by_owner')
      .on(sql`lower(${table.ownerId} collate "C")`, table.completionDate, table.id)
      .where(sql`${table.deletedAt} is null`),
    index('deals_by_completion_date').on(table.completionDate, table.id).where(sql`${table.deletedAt} is null`),
    index('deals_by_name').on(sql`${table.name} collate "C"`, table.id).where(sql`${table.deletedAt} is null`),
    index('deals_by_price').on(table.currency, table.price, table.id).where(sql`${table.deletedAt} is null`),
    index('deals_to_purge').on(table.purgeAt).where(sql`${table.purgeAt} is not null`),
  ],
)

/** One row for each task. `ordinal` is the order of creation. */
export const tasks = dealsSchema.table(
  'tasks',
  {
    dealId: uuid('deal_id').notNull(),
    id: uuid('id').notNull(),
    ordinal: integer('ordinal').notNull(),
    title: text('title').notNull(),
    dueDate: date('due_date', { mode: 'string' }),
    assigneeId: text('assignee_id'),
    status: text('status', { enum: ['open', 'done', 'dropped'] }).notNull(),
    result: text('result'),
    createdAt: time('created_at').notNull(),
    assignedAt: time('assigned_at'),
    doneAt: time('done_at'),
    /** The assignee's immutable id; null without an assignee, and in old rows. */
    assigneeUserId: text('assignee_user_id'),
    /** That of its deal. */
    bucket: bucket(),
  },
  (table) => [
    primaryKey({ name: 'tasks_pkey', columns: [table.dealId, table.id, table.bucket] }),
    check('tasks_status', sql`${table.status} in ('open', 'done', 'dropped')`),
    index('tasks_of_assignee')
      .on(sql`lower(${table.assigneeId} collate "C")`, table.dueDate, table.id, table.dealId)
      .where(sql`${table.status} = 'open'`),
  ],
)

/** One row for each command with an id. Rows stay when their outcome expires, so that a late duplicate never runs. */
export const commands = dealsSchema.table(
  'commands',
  {
    principalId: text('principal_id').notNull(),
    commandId: text('command_id').notNull(),
    dealId: uuid('deal_id').notNull(),
    useCase: text('use_case').notNull(),
    params: json('params').$type<Readonly<Record<string, unknown>>>().notNull(),
    fingerprint: text('fingerprint').notNull(),
    /**
     * Null after it expired. json, not jsonb, here and in `params`: a replay is the same response byte for byte, with
     * the same order of members.
     */
    outcome: json('outcome').$type<CommandOutcome>(),
    style: text('style').notNull(),
    requestId: uuid('request_id').notNull(),
    requestedBy: text('requested_by').notNull(),
    requestedAt: time('requested_at').notNull(),
    expiresAt: time('expires_at').notNull(),
    /** SHA-256 (base64url) of the signature of a signed request; null for other requests. */
    signature: text('signature'),
    /** That of its principal, not of its deal: there its id is taken once. */
    bucket: bucket(),
  },
  (table) => [
    primaryKey({ name: 'commands_pkey', columns: [table.principalId, table.commandId, table.bucket] }),
    index('commands_of_deal').on(table.dealId, table.requestedAt, table.commandId, table.principalId),
    index('commands_to_expire').on(table.expiresAt).where(sql`${table.outcome} is not null`),
  ],
)

/** One row for each command that an application has proposed. Its decision is the row of `commands` of its key. */
export const proposals = dealsSchema.table(
  'proposals',
  {
    id: uuid('id').primaryKey(),
    principalId: text('principal_id').notNull(),
    commandId: text('command_id').notNull(),
    /** Null for a new deal whose id the server chooses. */
    dealId: uuid('deal_id'),
    useCase: text('use_case').notNull(),
    params: json('params').$type<Readonly<Record<string, unknown>>>().notNull(),
    fingerprint: text('fingerprint').notNull(),
    dealVersion: integer('deal_version'),
    proposedBy: text('proposed_by').notNull(),
    client: json('client').$type<{ readonly id: string; readonly name: string }>().notNull(),
    proposedAt: time('proposed_at').notNull(),
    expiresAt: time('expires_at').notNull(),
  },
  (table) => [
    uniqueIndex('proposals_of_commands').on(table.principalId, table.commandId),
    index('proposals_by_time').on(table.proposedAt, table.id),
    index('proposals_of_deals').on(table.dealId),
  ],
)

/**
 * All events of all deals, the history, and the outbox that live readers follow. Of a purged deal the last one stays
 * for ever.
 */
export const events = dealsSchema.table(
  'events',
  {
    id: uuid('id').notNull(),
    dealId: uuid('deal_id').notNull(),
    sequence: integer('sequence').notNull(),
    dealVersion: integer('deal_version').notNull(),
    type: text('type').notNull(),
    data: json('data').$type<Readonly<Record<string, unknown>>>().notNull(),
    /** The currency of the amounts in `data`, which are minor units. */
    currency: char('currency', { length: 3 }).notNull(),
    occurredAt: time('occurred_at').notNull(),
    actor: text('actor').notNull(),
    useCase: text('use_case').notNull(),
    style: text('style').notNull(),
    commandId: text('command_id'),
    /** Common to all events of one command. */
    correlationId: uuid('correlation_id').notNull(),
    schemaVersion: integer('schema_version').notNull().default(1),
    /** The actor's immutable id; null in old rows. */
    actorUserId: text('actor_user_id'),
    /** The application by which the actor sent the command; null for the actor's own credentials. */
    client: json('client').$type<{ readonly id: string; readonly name: string }>(),
    /** That of its deal. */
    bucket: bucket(),
    /** Counts the events of the bucket without a gap, those of release 0.2.0 up to 0, all later ones from 1. */
    number: bigint('number', { mode: 'number' }).notNull(),
  },
  (table) => [
    primaryKey({ name: 'events_of_deal', columns: [table.dealId, table.sequence, table.bucket] }),
    uniqueIndex('events_in_buckets').on(table.bucket, table.number),
  ],
)

/**
 * One row for each of the 1,024 buckets of deals (`deals.bucket_of`): how many events were written in it. A commit
 * locks the counters of its deals until it ends. So whoever sees a count sees all events up to it.
 */
export const eventCounters = dealsSchema.table('event_counters', {
  bucket: smallint('bucket').primaryKey(),
  count: bigint('count', { mode: 'number' }).notNull(),
})

/** How far the events of each bucket are in slices. */
export const slicedCounters = dealsSchema.table('sliced_counters', {
  bucket: smallint('bucket').primaryKey(),
  upto: bigint('upto', { mode: 'number' }).notNull(),
})

/**
 * The log of events is a sequence of slices, written by `deals.slice_events` and never changed. A slice has events of
 * one bucket that entered the log together: a count, up to a number. The position of an event is `last_position` less
 * how far its number is below `upto`. It is stored nowhere, and stays when other events and slices are removed.
 */
export const eventSlices = dealsSchema.table(
  'event_slices',
  {
    /** The position of its last event. */
    lastPosition: bigint('last_position', { mode: 'number' }).primaryKey(),
    bucket: smallint('bucket').notNull(),
    total: integer('total').notNull(),
    upto: bigint('upto', { mode: 'number' }).notNull(),
  },
  (table) => [uniqueIndex('event_slices_in_buckets').on(table.bucket, table.upto)],
)

/** The timelines of the database on which slices were made, and the last position before each. */
export const eventTimelines = dealsSchema.table('event_timelines', {
  ordinal: integer('ordinal').primaryKey(),
  timeline: text('timeline').notNull(),
  beginsAfter: bigint('begins_after', { mode: 'number' }).notNull(),
})

/** One row. Whoever makes a slice locks it. */
export const eventLog = dealsSchema.table('event_log', {
  one: integer('one').primaryKey(),
  lastPosition: bigint('last_position', { mode: 'number' }).notNull(),
})

/** One row for each webhook: where events are sent, how far they were, and which server sends them now. */
export const webhooks = dealsSchema.table(
  'webhooks',
  {
    id: uuid('id').primaryKey(),
    url: text('url').notNull(),
    /** The wanted types and deals; all of them when empty. */
    types: jsonb('types').$type<readonly string[]>().notNull(),
    deals: jsonb('deals').$type<readonly string[]>().notNull(),
    description: text('description'),
    state: text('state', { enum: ['active', 'paused'] }).notNull(),
    pausedReason: text('paused_reason').$type<PauseReason>(),
    pausedAt: time('paused_at'),
    /** False until the auth server has the pause in its audit log. */
    pauseReported: boolean('pause_reported').notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at').notNull(),
    /** The user under whose rights events are sent. */
    responsible: text('responsible').notNull(),
    responsibleUserId: text('responsible_user_id').notNull(),
    /** The credential generation of that user at the last change; null in rows of earlier releases. */
    responsibleGeneration: integer('responsible_generation'),
    /** False: past events of deleted deals are left out, whatever that user may see. */
    seesDeleted: boolean('sees_deleted').notNull(),
    /** Sealed under a key from SERVICE_SECRET. */
    secret: text('secret').notNull(),
    /** Signs too until its time. */
    formerSecret: text('former_secret'),
    formerSecretUntil: time('former_secret_until'),
    /** Grows with every change by a client, so that the server that sends notices it. */
    revision: integer('revision').notNull(),
    /** Every event up to this one was delivered, left out, or belongs to a row of `webhook_blocked`. */
    position: bigint('position', { mode: 'number' }).notNull(),
    /** Failed attempts since the last success. */
    failures: integer('failures').notNull(),
    lastSuccessAt: time('last_success_at'),
    lastFailureAt: time('last_failure_at'),
    lastFailureStatus: integer('last_failure_status'),
    lastFailureReason: text('last_failure_reason').$type<FailureReason>(),
    /** The receiver asked for no request before this time. */
    heldUntil: time('held_until'),
    /** The server that sends, and until when nobody else may. */
    leaseOwner: uuid('lease_owner'),
    leaseUntil: time('lease_until'),
  },
  (table) => [
    check('webhooks_state', sql`${table.state} in ('active', 'paused')`),
    check('webhooks_paused_has_reason', sql`(${table.state} = 'paused') = (${table.pausedReason} is not null)`),
  ],
)

/** One row for each deal with an event that a receiver did not take: later events of that deal wait behind it. */
export const webhookBlocked = dealsSchema.table(
  'webhook_blocked',
  {
    webhookId: uuid('webhook_id')
      .notNull()
      .references(() => webhooks.id, { onDelete: 'cascade' }),
    dealId: uuid('deal_id').notNull(),
    /** Events of the deal before this one were delivered or left out. */
    sequence: integer('sequence').notNull(),
    /** Failed attempts of this event. */
    attempts: integer('attempts').notNull(),
    nextAttemptAt: time('next_attempt_at').notNull(),
    /** When the event happened. */
    since: time('since').notNull(),
  },
  (table) => [primaryKey({ name: 'webhook_blocked_pkey', columns: [table.webhookId, table.dealId] })],
)

/** The last attempts of each webhook, for people who look for a fault. */
export const webhookAttempts = dealsSchema.table(
  'webhook_attempts',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    webhookId: uuid('webhook_id')
      .notNull()
      .references(() => webhooks.id, { onDelete: 'cascade' }),
    eventId: uuid('event_id').notNull(),
    type: text('type').notNull(),
    /** Null for a test. */
    dealId: uuid('deal_id'),
    attempt: integer('attempt').notNull(),
    at: time('at').notNull(),
    durationMs: integer('duration_ms').notNull(),
    outcome: text('outcome', { enum: ['delivered', 'failed'] }).notNull(),
    status: integer('status'),
    reason: text('reason').$type<FailureReason>(),
  },
  (table) => [
    index('webhook_attempts_of_webhook').on(table.webhookId, table.id),
    index('webhook_attempts_by_time').on(table.at),
  ],
)

/** See `shared/protocol/authentication/credential-tables.ts`. */
export const usedSignatures = usedSignaturesTable(dealsSchema)

/** See `shared/protocol/authentication/credential-tables.ts`. */
export const digestCounts = digestCountsTable(dealsSchema)
