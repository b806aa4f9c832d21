import type { SchemeName } from '../schemes/scheme.ts'
import type { Metrics, ServerName } from './metrics.ts'

/** Counts what became of credentials, by scheme (`none` where none was found) and outcome. */
export function observeAuthentications(
  metrics: Metrics,
  server: ServerName,
): (scheme: SchemeName | 'none', outcome: string) => void {
  const total = metrics.counter({
    name: 'authentications_total',
    help: 'Requests that needed a caller, by scheme and outcome: accepted, unavailable, or the code of the refusal.',
    labels: ['scheme', 'outcome'],
  })
  return (scheme, outcome) => total.inc({ server, scheme, outcome })
}
