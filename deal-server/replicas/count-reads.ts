import type { Metrics } from '../../shared/platform/metrics/metrics.ts'
import { countPairs } from '../../shared/platform/metrics/pair-counts.ts'

/** The caller or the replica is in another history than the primary. */
export const otherHistory = 'timeline'

const reasons = ['no-token', 'behind', otherHistory, 'unavailable'] as const

/** Why the primary answered a read. */
export type WhyPrimary = (typeof reasons)[number]

/** Where a read was answered, and why it was the primary. */
export type ReadPlace = readonly ['replica', 'fresh'] | readonly ['primary', WhyPrimary]

/** Counts reads where there are replicas: by the server that answered, and why it was that one. */
export function countReads(metrics: Metrics): (place: ReadPlace) => void {
  const count = countPairs(metrics, 'deal', {
    name: 'reads_total',
    help:
      'Reads of deals where there are replicas, by the server that answered: replica, or primary because of no-token, ' +
      'behind, timeline (another one) or unavailable.',
    labels: ['from', 'reason'],
    begin: [['replica', 'fresh'], ...reasons.map((why) => ['primary', why] as const)],
  })
  return ([from, why]) => count(from, why)
}
