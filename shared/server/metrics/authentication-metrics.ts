import type { Metrics, ServerName } from '../../platform/metrics/metrics.ts'
import { countPairs } from '../../platform/metrics/pair-counts.ts'
import type { SchemeName } from '../../protocol/authentication/scheme.ts'

/** Counts the outcomes of authentications by scheme (`none` for a request without a credential) and outcome. */
export const observeAuthentications = (
  metrics: Metrics,
  server: ServerName,
): ((scheme: SchemeName | 'none', outcome: string) => void) =>
  countPairs(metrics, server, {
    name: 'authentications_total',
    help: 'Requests that needed a caller, by scheme and outcome: accepted, unavailable, or the code of the refusal.',
    labels: ['scheme', 'outcome'],
  })
