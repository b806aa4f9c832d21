import type { Metrics, ServerName } from '../../platform/metrics/metrics.ts'
import type { SchemeName } from '../authentication/scheme.ts'

/** Counts the outcomes of authentications by scheme (`none` for a request without a credential) and outcome. */
export function observeAuthentications(
  metrics: Metrics,
  server: ServerName,
): (scheme: SchemeName | 'none', outcome: string) => void {
  const counts = new Map<string, Map<string, number>>()
  metrics.total(
    {
      name: 'authentications_total',
      help: 'Requests that needed a caller, by scheme and outcome: accepted, unavailable, or the code of the refusal.',
      labels: ['scheme', 'outcome'],
    },
    server,
    () =>
      [...counts].flatMap(([scheme, byOutcome]) =>
        [...byOutcome].map(([outcome, value]) => ({ labels: { scheme, outcome }, value })),
      ),
  )
  return (scheme, outcome) => {
    let byOutcome = counts.get(scheme)
    if (!byOutcome) {
      byOutcome = new Map()
      counts.set(scheme, byOutcome)
    }
    byOutcome.set(outcome, (byOutcome.get(outcome) ?? 0) + 1)
  }
}
