/** The tables of the audit log. */
import { type SQLWrapper, sql } from 'drizzle-orm'
import { bigint, check, index, integer, json, primaryKey, smallint, text, timestamp, uuid } from 'drizzle-orm/pg-core'
import { authSchema } from './schema.ts'

const time = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'date' })

/** SQL for a name in the form for lookups (`foldUsername`). */
const folded = (name: SQLWrapper) => sql`lower(${name} collate "C")`

/**
 * The audit log. Entries are only added, and dropped from the beginning on. The MAC of each entry covers the MAC
 * before it.
 */
export const auditEntries = authSchema.table(
  'audit_entries',
  {
    /** Without gaps, from 1. */
    seq: bigint({ mode: 'number' }).primaryKey(),
    at: time('at').notNull(),
    actor: text(),
    action: text().notNull(),
    target: text(),
    outcome: text().notNull(),
    scheme: text(),
    address: text(),
    requestId: text('request_id'),
    /** How many equal refusals the entry stands for; otherwise 1. */
    count: integer().notNull().default(1),
    /** What an operator gave as the reason. */
    reason: text(),
    /** The id of the key of SECRETS_KEY that made the MAC. */
    keyId: text('key_id').notNull(),
    /** HMAC-SHA256 (base64url) over the MAC before it and this entry. */
    mac: text().notNull(),
    /** Empty. Servers of release 0.3.0 read these columns: the release after this one removes them. */
    writer: uuid(),
    writerFirst: bigint('writer_first', { mode: 'number' }),
    writerLast: bigint('writer_last', { mode: 'number' }),
    writerMac: text('writer_mac'),
    /** What the change gave and took; null when the entry does not say it. The MAC covers it. */
    changes: json(),
    /** The name of the application by which the actor acted; null for other credentials. The MAC covers it. */
    client: text(),
  },
  // Each index ends in the number, which is the order of every page.
  (table) => [
    check('audit_entries_seq', sql`${table.seq} >= 1`),
    index('audit_entries_actor').on(folded(table.actor), table.seq).where(sql`${table.actor} is not null`),
    index('audit_entries_target').on(folded(table.target), table.seq).where(sql`${table.target} is not null`),
    index('audit_entries_action').on(sql`${table.action} collate "C"`, table.seq),
    index('audit_entries_refused').on(table.outcome, table.seq).where(sql`${table.outcome} <> 'succeeded'`),
    index('audit_entries_at').on(table.at, table.seq),
  ],
)

/** A single row: the number of audit entries, and the MAC of the last one. */
export const auditHead = authSchema.table(
  'audit_head',
  {
    id: smallint().primaryKey().default(1),
    count: bigint({ mode: 'number' }).notNull().default(0),
    mac: text().notNull().default(''),
  },
  (table) => [check('audit_head_single', sql`${table.id} = 1`)],
)

/**
 * A single row: the last audit entry that was dropped. Rows of `audit_entries` up to it may be deleted, and no others:
 * a trigger refuses it. Release 0.3.0, which moved entries to an archive, knows the table by this name.
 */
export const auditStart = authSchema.table(
  'audit_archive',
  {
    id: smallint().primaryKey().default(1),
    /** Its number and its MAC. */
    count: bigint({ mode: 'number' }).notNull().default(0),
    mac: text().notNull().default(''),
    /** Its month, `2026-01`, where release 0.3.0 has archived it. */
    month: text().notNull().default(''),
    /** The id of the key of SECRETS_KEY that made the seal, which covers the row (`audit/log-start.ts`). */
    keyId: text('key_id').notNull().default(''),
    seal: text().notNull().default(''),
  },
  (table) => [check('audit_archive_single', sql`${table.id} = 1`)],
)

/** What dropped entries say that is logged only once: operations on keys of the ring. */
export const auditDroppedOnce = authSchema.table(
  'audit_archived_once',
  { action: text().notNull(), target: text().notNull() },
  (table) => [primaryKey({ columns: [table.action, table.target] })],
)

/** Audit entries that wait for their place in the chain (`auth-server/audit/journal.ts`). */
export const auditJournal = authSchema.table('audit_journal', {
  /** The order in which they come into the chain. */
  position: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  /** An entry without its number in the log. */
  entry: json().notNull(),
})
