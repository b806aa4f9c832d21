/** Serves `/metrics`, either beside the other routes or on a listener of its own (METRICS_PORT). */
import type { Clock } from '../clock.ts'
import { type ListenOptions, listen } from '../http/server/listen.ts'
import { createApp, type Route } from '../http/server/routes.ts'
import { type Metrics, metricsType } from './metrics.ts'

/** `GET /metrics`. */
export const metricsRoute = (metrics: Pick<Metrics, 'text'>): Route => ({
  methods: ['GET'],
  path: '/metrics',
  describe: () => [
    {
      id: 'getMetrics',
      tags: ['operation'],
      summary: 'Read the metrics of the process',
      description: 'For Prometheus. No label names a user or a resource.',
      responses: {
        200: { description: "Prometheus's text format.", schema: { type: 'string' }, mediaType: 'text/plain' },
      },
      problems: [],
      security: [],
    },
  ],
  handle: async () => ({ status: 200, headers, body: await metrics.text() }),
})

const headers = { 'content-type': metricsType, 'cache-control': 'no-store' }

/**
 * Serves only `/metrics` there, over plain HTTP. Answers the function that stops it. @throws OperatorError when the
 * system refuses
 */
export async function listenForMetrics(
  metrics: Pick<Metrics, 'text'>,
  place: Omit<ListenOptions, 'app' | 'certificate'> & { readonly clock: Clock },
): Promise<() => Promise<void>> {
  const app = createApp({
    ...place,
    routes: [metricsRoute(metrics)],
    schemes: [],
    transport: { trustProxy: { hops: 0 }, allowInsecureHttp: false },
  })
  const { drain } = await listen({ ...place, app, certificate: undefined })
  return () => drain({ lastRequestMs: 0, graceMs: 0 })
}
