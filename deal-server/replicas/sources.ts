/** The replicas, as readers of deals. */
import { DatabaseError, TookTooLong } from '../../shared/platform/database/database.ts'
import { gatherStatements } from '../../shared/platform/database/gather-statements.ts'
import { type Position, reaches } from '../../shared/platform/history/position.ts'
import type { Replica, ReplicaRead } from '../../shared/platform/postgres/replicas.ts'
import { ProblemError, Unavailable } from '../../shared/platform/problems/errors.ts'
import type { DealReader, DealText } from '../queries/ports.ts'
import { readTexts } from '../store/deal-text.ts'
import { createDealReads } from '../store/deals.ts'
import { createDealSums, sumPermits } from '../store/sum-deals.ts'
import { otherHistory, type WhyPrimary } from './count-reads.ts'

/** One replica, as requests use it. */
export interface Source {
  readText(dealId: string): Promise<ReplicaRead<DealText | undefined>>
  read<Result>(work: (reader: DealReader) => Promise<Result>): Promise<ReplicaRead<Result>>
  /** Takes note of the position that the replica had. */
  note(position: Position | undefined): void
  /** True if the replica was known to have replayed the log so far. */
  has(position: Position): boolean
}

/** All replicas in turn; those that are known to be far enough come first. */
export type Sources = (required: Position) => readonly Source[]

/** Makes them, one for each replica. */
export function createSources(replicas: readonly Replica[]): Sources {
  const sources = replicas.map(createSource)
  let next = 0
  return (required) => {
    next = (next + 1) % sources.length
    const turned = [...sources.slice(next), ...sources.slice(0, next)]
    return turned.length === 1 ? turned : turned.sort((a, b) => Number(b.has(required)) - Number(a.has(required)))
  }
}

function createSource(replica: Replica): Source {
  const permits = sumPermits()
  let known: Position | undefined
  const readText = gatherStatements<string, ReplicaRead<DealText | undefined>>({
    run: async (ids) => {
      const { result, ...positions } = await replica.read((reads) => readTexts(reads, ids))
      return result.map((text) => ({ result: text, ...positions }))
    },
  })
  return {
    readText,
    read: (work) =>
      replica.read((reads) => {
        const reader = createDealReads(reads, createDealSums(reads, permits))
        return work({ ...reader, loadText: async (id) => (await readTexts(reads, [id]))[0] })
      }),
    note: (position) => {
      known = position
    },
    has: (required) => known !== undefined && reaches(known, required),
  }
}

/**
 * A replica that is away, or ended a statement because of what it replays, is no reason to refuse a read. A cursor may
 * be outdated there alone: it names another history, or has less of this one.
 */
export function whyNot(error: unknown): WhyPrimary {
  if (error instanceof ProblemError && error.code === 'outdated-cursor') return otherHistory
  const isAway = error instanceof Unavailable || error instanceof DatabaseError
  if (!isAway || error instanceof TookTooLong) throw error
  return 'unavailable'
}
