import type { Metrics, ServerName } from './metrics.ts'

interface PairCount {
  /** Without the prefix `keyhold_`. */
  readonly name: string
  readonly help: string
  /** The labels, whose values are few: names and codes of the server, nothing of a client. */
  readonly labels: readonly [first: string, second: string]
  /** The pairs that are there from the start, with 0: only then Prometheus sees the first of them as an increase. */
  readonly begin?: readonly (readonly [first: string, second: string])[]
}

/**
 * A total that requests count, by two labels. It counts in a table of its own, which metrics read: a counter of the
 * library takes longer than the check that it counts.
 */
export function countPairs(
  metrics: Metrics,
  server: ServerName,
  { labels: [one, other], begin = [], ...measured }: PairCount,
): (first: string, second: string) => void {
  const counts = new Map<string, Map<string, number>>()
  metrics.total({ ...measured, labels: [one, other] }, server, () =>
    [...counts].flatMap(([first, bySecond]) =>
      [...bySecond].map(([second, value]) => ({ labels: { [one]: first, [other]: second }, value })),
    ),
  )
  const add = (first: string, second: string, more: number) => {
    let bySecond = counts.get(first)
    if (!bySecond) {
      bySecond = new Map()
      counts.set(first, bySecond)
    }
    bySecond.set(second, (bySecond.get(second) ?? 0) + more)
  }
  for (const [first, second] of begin) add(first, second, 0)
  return (first, second) => add(first, second, 1)
}
