/**
 * Positions in the history of a database: a standby that has come to a position shows everything that was written
 * before it.
 */
import { primaryTimelineSql, standbyTimelineSql } from './history.ts'

/**
 * A position, as clients have it too: the number of the timeline, the position in its log (WAL) and a mark of the
 * cluster, with points between. Positions of one cluster are ordered as texts. Only this folder knows that.
 */
export type Position = string & { readonly [kind]: 'Position' }
declare const kind: unique symbol

/** A row of the statements below. Null: the server is not what it was taken for. */
export interface PositionRow {
  readonly position: Position | null
}

const positionSql = (timeline: string, lsn: string): string => `${timeline} || '.' ||
    upper(lpad(to_hex((${lsn} - '0/0')::bigint), 16, '0')) || '.' ||
    left(encode(sha256(convert_to((pg_control_system()).system_identifier::text, 'UTF8')), 'hex'), 8)`

/** A position that is not before any change that an earlier statement on this primary showed or made. */
export const primaryPositionSql = `select case when not pg_is_in_recovery() then
  ${positionSql(primaryTimelineSql, 'pg_current_wal_insert_lsn()')}
  end as position`

/**
 * How far a standby has replayed the log of the history that it follows. It shows a commit some
 * microseconds before its position passes it: a later statement, as the one behind a read, finds the position there.
 */
export const standbyPositionSql = `select case when pg_is_in_recovery() then
  ${positionSql(standbyTimelineSql, 'pg_last_wal_replay_lsn()')} end as position`

const form = /^[0-9A-F]{8}\.[0-9A-F]{16}\.[0-9a-f]{8}$/

/** True for a text that may be a position. */
export const isPosition = (text: unknown): text is Position => typeof text === 'string' && form.test(text)

const partsOf = (position: Position): readonly string[] => position.split('.')

/** True when both are of one history. */
export function areOfOneHistory(one: Position, other: Position): boolean {
  const [number, , cluster] = partsOf(one)
  const [otherNumber, , otherCluster] = partsOf(other)
  return number === otherNumber && cluster === otherCluster
}

/** True when everything before `other` is before this position too. */
export const reaches = (position: Position, other: Position): boolean =>
  areOfOneHistory(position, other) && position >= other

/** The later of two positions. Of two histories, the one that began later is later. */
export function laterOf(one: Position | undefined, other: Position): Position
export function laterOf(one: Position | undefined, other: Position | undefined): Position | undefined
export function laterOf(one: Position | undefined, other: Position | undefined): Position | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return partsOf(one)[2] === partsOf(other)[2] && one > other ? one : other
}

/** The other one of the two, or the only one. */
export function earlierOf(one: Position | undefined, other: Position | undefined): Position | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return laterOf(one, other) === other ? one : other
}
