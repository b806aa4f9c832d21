/** Standbys of a database that answer reads. Each read is told how much of the log the standby had replayed. */
import type { Reads } from '../database/database.ts'
import { unavailable } from '../database/driver-errors.ts'
import { areOfOneHistory, earlierOf, laterOf, type Position } from '../history/position.ts'
import type { Frame } from './framed-session.ts'
import { openPostgresAt, type StandbyDatabase } from './postgres.ts'
import { nameOf, parseReplicaUrl } from './postgres-url.ts'

/** The result of a read, and between which positions it was read. */
export interface ReplicaRead<Result> {
  readonly result: Result
  /** Everything before it is in the result. Undefined: the server is no standby. */
  readonly from: Position | undefined
  /** Nothing after it is in the result. */
  readonly to: Position | undefined
}

/** One standby. */
export interface Replica {
  /** `host:port`. */
  readonly name: string
  /**
   * Runs reads. The positions are read on the session of each statement, in front of it and behind it. @throws as the
   * reads do
   */
  read<Result>(work: (reads: Reads) => Promise<Result>): Promise<ReplicaRead<Result>>
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

function replicaOver(name: string, database: StandbyDatabase): Replica {
  const read: Replica['read'] = async (work) => {
    let [from, to, isStandby]: [Position | undefined, Position | undefined, boolean] = [undefined, undefined, true]
    const note: Frame['note'] = (after, before) => {
      isStandby &&= before !== undefined && after !== undefined && areOfOneHistory(before, after)
      from = earlierOf(from, before)
      to = laterOf(to, after)
    }
    const result = await work(database.standbyReads(note))
    return { result, from: isStandby ? from : undefined, to: isStandby ? to : undefined }
  }
  return {
    name,
    read,
    check: async () => {
      const { from } = await read(({ query }) => query('select 1'))
      if (from === undefined) throw unavailable(`${name} is no standby`)
    },
    close: () => database.close(),
  }
}
