/**
 * Positions in the log of PostgreSQL (WAL), for reads on replicas: a replica that has replayed the log up to a position
 * shows everything that was written before it.
 */
import { hash } from 'node:crypto'
import type { LogPosition } from './database.ts'
import { timelineSql } from './timeline.ts'

/** A position as PostgreSQL gives it. Nulls: the server is not what it was taken for. */
export interface PositionRow {
  readonly timeline: string | null
  readonly lsn: string | null
}

/** A position that is not before any change that an earlier statement on this primary showed or made. */
export const primaryPositionSql = `select ${timelineSql} as timeline,
  case when not pg_is_in_recovery() then pg_current_wal_insert_lsn()::text end as lsn`

/**
 * How far a standby has replayed the log, and on which timeline. After a promotion elsewhere, a standby that changes to
 * the new timeline says so at its next restart point; until then it names the former one. A standby shows a commit some
 * microseconds before its position passes it: a later statement, as the one behind a read, finds the position there.
 */
export const standbyPositionSql = `select
  case when pg_is_in_recovery() then (pg_control_system()).system_identifier || '.' ||
    upper(lpad(to_hex((pg_control_recovery()).min_recovery_end_timeline), 8, '0')) end as timeline,
  case when pg_is_in_recovery() then pg_last_wal_replay_lsn()::text end as lsn`

/** The position of a row; undefined for nulls. */
export function positionOfRow(row: PositionRow | undefined): LogPosition | undefined {
  if (row?.timeline == null || row.lsn === null) return undefined
  const [high = '', low = ''] = row.lsn.split('/')
  return { timeline: row.timeline, lsn: `${high.padStart(8, '0')}${low.padStart(8, '0')}` }
}

/** The later of two positions. Of two timelines, the one that began later is later. */
export function laterOf(one: LogPosition | undefined, other: LogPosition): LogPosition
export function laterOf(one: LogPosition | undefined, other: LogPosition | undefined): LogPosition | undefined
export function laterOf(one: LogPosition | undefined, other: LogPosition | undefined): LogPosition | undefined {
  if (one === undefined || other === undefined) return one ?? other
  if (one.timeline === other.timeline) return one.lsn > other.lsn ? one : other
  const [cluster, number = ''] = one.timeline.split('.')
  const [otherCluster, otherNumber = ''] = other.timeline.split('.')
  return cluster === otherCluster && number > otherNumber ? one : other
}

const tokenForm = /^[0-9A-F]{8}\.[0-9A-F]{16}\.[0-9a-f]{8}$/

/** True for a text that `tokenOf` may have made. */
export const isToken = (text: unknown): text is string => typeof text === 'string' && tokenForm.test(text)

/**
 * A position for clients: the number of the timeline, the position and a mark of the cluster, with points between.
 * Tokens of one cluster are ordered as texts.
 */
export const tokenOf = ({ timeline, lsn }: LogPosition): string => {
  const [cluster = '', number = ''] = timeline.split('.')
  return `${number}.${lsn}.${markOf(cluster)}`
}

/** The position of a token; undefined for a token of another timeline than this one, or of another cluster. */
export function positionOnTimeline(token: string, timeline: string): LogPosition | undefined {
  const [number, lsn = '', mark] = token.split('.')
  const [cluster = '', ownNumber] = timeline.split('.')
  return number === ownNumber && mark === markOf(cluster) ? { timeline, lsn } : undefined
}

const markOf = (cluster: string): string => hash('sha256', cluster).slice(0, 8)
