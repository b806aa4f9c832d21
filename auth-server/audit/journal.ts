/**
 * The journal: entries that are part of the log and wait for their place in the chain. A change stores its entries here
 * in its own transaction (`change-entries.ts`), where no writer waits for another one. Some moments later one of the
 * servers chains them (`chain-journal.ts`).
 */
import { type SQL, sql } from 'drizzle-orm'
import { namesOf } from '../../shared/platform/database/statement.ts'
import { auditJournal } from '../store/audit-tables.ts'
import type { AuditEntry, AuditEvent } from './audit.ts'

/** An entry without its number. */
export type Pending = Omit<AuditEntry, 'seq'>

/**
 * SQL that stores the entries of a JSON array, in its order. `source` has one row when they are to be stored, and none
 * otherwise.
 */
export const insertEntriesSql = (entries: SQL, source = sql`(select 1) one`): SQL =>
  sql`insert into ${auditJournal} (${namesOf(auditJournal, 'entry')}) select e.value
    from ${source} cross join lateral json_array_elements(${entries}) with ordinality e(value, place) order by e.place`

const isName = (text: string): boolean => /^[A-Za-z0-9._@-]{1,64}$/.test(text)

/**
 * The entry of an event at this time. A text that has not the form of a name or an id becomes null: users may type a
 * password in the field for the name.
 */
export const pendingOf = (event: AuditEvent, at: string): Pending => ({
  at,
  actor: event.actor !== null && isName(event.actor) ? event.actor : null,
  action: event.action,
  target: event.target !== null && isName(event.target) ? event.target : null,
  outcome: event.outcome,
  scheme: event.scheme,
  address: event.address,
  requestId: event.requestId,
  count: 1,
  reason: event.reason ?? null,
  client: event.client ?? null,
  changes: event.changes?.length ? event.changes : undefined,
})
