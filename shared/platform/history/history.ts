/**
 * The history of a database: one unbroken course of its writes, which PostgreSQL calls a timeline. A standby that is
 * promoted begins another one, and so does a recovery to a point in time. What the former primary wrote last may be
 * missing there, and numbers of changes, positions and transactions may be assigned a second time. So whatever is
 * cached or handed out with such a number belongs to one history.
 */
import { hash } from 'node:crypto'
import { Unavailable } from '../problems/errors.ts'

/** What reads a database. */
interface Reads {
  query<Row extends object>(text: string): Promise<Row[]>
}

/** The id of a history. Two are the same or not: only this folder knows what an id is made of. */
export type History = string

const cluster = '(pg_control_system()).system_identifier'
const hexadecimal = (number: string): string => `upper(lpad(to_hex(${number}), 8, '0'))`

/** SQL for the number of the timeline of a primary. */
const primaryTimelineSql = 'left(pg_walfile_name(pg_current_wal_lsn()), 8)'

/**
 * SQL for the present history: the system identifier of the cluster, and the timeline as the names of WAL files have
 * it, such as `7711042124562333738.00000002`. Null on a standby, which has no timeline of its own yet.
 *
 * The checkpoint in the control file is not asked: after a promotion it names the former timeline for a while. The
 * functions are open to every role, unless somebody has revoked that.
 */
export const historySql = `(case when not pg_is_in_recovery() then ${cluster} || '.' || ${primaryTimelineSql} end)`

/** SQL for the number of the present history: each promotion has a higher one. Null on a standby. */
export const historyNumberSql = `('x' || split_part(${historySql}, '.', 2))::bit(32)::int`

/** Selects `history`: up to eight before the one of this number. A promotion takes the next number, or skips some. */
export const formerHistoriesSql = (
  number: string,
): string => `select ${cluster} || '.' || ${hexadecimal('n')} as history
  from generate_series(greatest(1, ${number} - 8), ${number} - 1) n`

/** What a statement found that is null on a standby. @throws Unavailable for null: the server is a standby */
export function requirePrimary<Found>(found: Found | null | undefined): Found {
  if (found != null) return found
  throw new Unavailable('database', { cause: new Error('the PostgreSQL server is a standby') })
}

/** Reads the present history. @throws Unavailable as `requirePrimary`; DatabaseError when the role may not read it */
export async function readPresentHistory(reads: Reads): Promise<History> {
  const [row] = await reads.query<{ history: History | null }>(`select ${historySql} as history`)
  return requirePrimary(row?.history)
}

/** The history as far as this process knows it; another server may have taken over since. */
export type KnownHistory = ReturnType<typeof createKnownHistory>

/** Reads the history once in the background. */
export function createKnownHistory(database: Reads) {
  let known: History | undefined
  /** Takes note of a history that was just read. */
  const observe = (history: History): void => {
    known = history
  }
  readPresentHistory(database).then(observe, () => undefined)
  /** Undefined until it was read. */
  const present = (): History | undefined => known
  return { present, observe }
}

/** A short mark of a history, for what clients bring back: 12 hexadecimal digits. */
export const markOf = (history: History): string => hash('sha256', history).slice(0, 12)

/** SQL for the mark of the present history; null on a standby. */
export const markSql = `left(encode(sha256(convert_to(${historySql}, 'UTF8')), 'hex'), 12)`
