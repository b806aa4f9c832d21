/** Adds up the counts and sums of all shards. */
import type { DealCount, DealGroup, DealSummary } from '../../queries/ports.ts'
import { maxGroups, tooSlow } from '../sum-deals.ts'

/** How many groups a shard answers. A group that one shard leaves out would have a wrong sum, so none may do so. */
export const groupsOfShard = 50_000

/** The count over all shards. */
export const addCounts = (counts: readonly DealCount[]): DealCount => ({
  count: counts.reduce((sum, { count }) => sum + count, 0),
  isExact: counts.every(({ isExact }) => isExact),
})

/** The sums over all shards. @throws ProblemError `query-too-slow` when a shard has more groups than it answers */
export function addSummaries(summaries: readonly DealSummary[]): DealSummary {
  if (summaries.some(({ otherCount }) => otherCount > 0)) throw tooSlow()
  const groups = new Map<string, DealGroup>()
  for (const group of summaries.flatMap((summary) => summary.groups)) {
    const name = nameOf(group)
    const before = groups.get(name)
    groups.set(name, before ? added(before, group) : group)
  }
  const largest = [...groups].sort(([a, one], [b, other]) => other.count - one.count || (a < b ? -1 : 1))
  const shown = largest.slice(0, maxGroups).map(([, group]) => group)
  const totalCount = summaries.reduce((sum, summary) => sum + summary.totalCount, 0)
  return { groups: shown, totalCount, otherCount: totalCount - shown.reduce((sum, { count }) => sum + count, 0) }
}

/** Names of one user in several spellings are one group. */
const nameOf = ({ status, held, ownerId, currency }: DealGroup): string =>
  JSON.stringify([status, held, ownerId?.toLowerCase(), currency])

function added(one: DealGroup, other: DealGroup): DealGroup {
  const sum = { count: one.count + other.count, value: String(BigInt(one.value) + BigInt(other.value)) }
  const isSmaller = one.ownerId !== undefined && other.ownerId !== undefined && other.ownerId < one.ownerId
  return { ...one, ...sum, ...(isSmaller && { ownerId: other.ownerId }) }
}
