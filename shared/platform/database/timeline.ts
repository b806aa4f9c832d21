/**
 * The timeline of a PostgreSQL server: one unbroken course of its writes. A standby that is promoted begins another
 * one, and so does a recovery to a point in time. What the former primary wrote last may be missing there, and numbers
 * of changes, positions and transactions may be assigned a second time. So whatever is cached or handed out with such a
 * number belongs to one timeline.
 */
import { hash } from 'node:crypto'
import { Unavailable } from '../problems/errors.ts'
import type { Database } from './database.ts'

/**
 * SQL for the id of the timeline: the system identifier of the cluster, and the timeline as the names of WAL files
 * have it, such as `7711042124562333738.00000002`. Null on a standby, which has no timeline of its own yet.
 *
 * The checkpoint in the control file is not asked: after a promotion it names the former timeline for a while. The
 * functions are open to every role, unless somebody has revoked that.
 */
export const timelineSql = `(case when not pg_is_in_recovery() then (pg_control_system()).system_identifier || '.' ||
    left(pg_walfile_name(pg_current_wal_lsn()), 8) end)`

/** An id that was built on `timelineSql`. @throws Unavailable for null: the server is a standby */
export function requireTimeline(found: string | null | undefined): string {
  if (found != null) return found
  throw new Unavailable('database', { cause: new Error('the PostgreSQL server is a standby') })
}

/** Reads the id of the timeline. @throws Unavailable also on a standby; DatabaseError when the role may not read it */
export async function readTimeline(database: Pick<Database, 'query'>): Promise<string> {
  const [row] = await database.query<{ timeline: string | null }>(`select ${timelineSql} as timeline`)
  return requireTimeline(row?.timeline)
}

/** The timeline as far as this process knows it; another server may have taken over since. */
export interface KnownTimeline {
  /** Undefined until it was read. */
  present(): string | undefined
  /** Takes note of a timeline that was just read. */
  observe(timeline: string): void
}

/** Reads the timeline once in the background. */
export function createKnownTimeline(database: Pick<Database, 'query'>): KnownTimeline {
  let known: string | undefined
  const observe = (timeline: string) => {
    known = timeline
  }
  readTimeline(database).then(observe, () => undefined)
  return { present: () => known, observe }
}

/** A short mark of a timeline, for what clients bring back: 12 hexadecimal digits. */
export const timelineMark = (timeline: string): string => hash('sha256', timeline).slice(0, 12)
