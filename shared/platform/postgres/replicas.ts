/** Standbys of a database that answer reads. Each read is told how much of the log the standby had replayed. */
import type { LogPosition, Reads } from '../database/database.ts'
import { unavailable } from '../database/driver-errors.ts'
import { positionOfRow, standbyPositionSql } from '../database/log-position.ts'
import type { Frame } from './framed-session.ts'
import { type FramableDatabase, openPostgresAt } from './postgres.ts'
import { nameOf, parseReplicaUrl } from './postgres-url.ts'

/** The result of a read, and between which positions of the log it was read. */
export interface ReplicaRead<Result> {
  readonly result: Result
  /** Everything before it is in the result. Undefined: the server is no standby. */
  readonly from: LogPosition | undefined
  /** Nothing after it is in the result. */
  readonly to: LogPosition | undefined
}

/** One standby. */
export interface Replica {
  /** `host:port`. */
  readonly name: string
  /**
   * Runs reads; `timeline` is the one that the caller expects. The positions are read on the session of each statement,
   * in front of it and behind it. @throws as the reads do
   */
  read<Result>(timeline: string, work: (reads: Reads) => Promise<Result>): Promise<ReplicaRead<Result>>
  /** Resolves when it answers as a standby. @throws Unavailable */
  check(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens the standbys of `url`; none without one. They connect at their first use, and may be away. `sessions` is the
 * number of sessions of the query builder at each of them; hot reads have half as many.
 */
export function openReplicas(url: string | undefined, sessions = 4): Replica[] {
  if (url === undefined) return []
  const address = parseReplicaUrl(url)
  return address.servers.map((server) =>
    replicaOver(
      nameOf(server),
      openPostgresAt({ ...address, servers: [server] }, { pipelines: Math.ceil(sessions / 2), sessions }),
    ),
  )
}

function replicaOver(name: string, database: FramableDatabase): Replica {
  const read: Replica['read'] = async (timeline, work) => {
    let [from, to, isStandby]: [LogPosition | undefined, LogPosition | undefined, boolean] = [
      undefined,
      undefined,
      true,
    ]
    const note: Frame['note'] = (after, before) => {
      const [first, last] = [positionOfRow(before), positionOfRow(after)]
      isStandby &&= first !== undefined && last !== undefined && first.timeline === last.timeline
      if (first && (from === undefined || first.lsn < from.lsn)) from = first
      if (last && (to === undefined || last.lsn > to.lsn)) to = last
    }
    const reads = database.framedReads({ text: standbyPositionSql, isAround: true, note })
    const result = await work(Object.defineProperty(reads, 'timeline', { value: timeline }))
    return { result, from: isStandby ? from : undefined, to: isStandby ? to : undefined }
  }
  return {
    name,
    read,
    check: async () => {
      const { from } = await read('', ({ query }) => query('select 1'))
      if (from === undefined) throw unavailable(`${name} is no standby`)
    },
    close: () => database.close(),
  }
}
