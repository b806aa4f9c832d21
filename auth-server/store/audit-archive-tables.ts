/** The tables of the archive of the audit log, in the schema `auth` (`schema.ts`). */
import { sql } from 'drizzle-orm'
import { bigint, check, primaryKey, smallint, text } from 'drizzle-orm/pg-core'
import { authSchema } from './schema.ts'

/**
 * A single row: the last audit entry that was removed, because it is in the archive. Rows of `audit_entries` up to it
 * may be deleted, and no others: a trigger refuses it.
 */
export const auditArchive = authSchema.table(
  'audit_archive',
  {
    id: smallint().primaryKey().default(1),
    /** Its number and its MAC. */
    count: bigint({ mode: 'number' }).notNull().default(0),
    mac: text().notNull().default(''),
    /** Its month: `2026-01`. */
    month: text().notNull().default(''),
    /** The id of the key of SECRETS_KEY that made the seal, which covers the row (`audit/archive-head.ts`). */
    keyId: text('key_id').notNull().default(''),
    seal: text().notNull().default(''),
  },
  (table) => [check('audit_archive_single', sql`${table.id} = 1`)],
)

/** What archived entries say that is logged only once: operations on keys of the ring. */
export const auditArchivedOnce = authSchema.table(
  'audit_archived_once',
  { action: text().notNull(), target: text().notNull() },
  (table) => [primaryKey({ columns: [table.action, table.target] })],
)
