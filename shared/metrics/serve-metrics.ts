/** How metrics are read: `/metrics` beside everything else, or on a listener of its own (METRICS_PORT). */
import { createServer } from 'node:http'
import { listenOn } from '../http/listen.ts'
import type { Route } from '../http/routes.ts'
import type { Metrics } from './metrics.ts'

/** `GET /metrics`. */
export const metricsRoute = (metrics: Metrics): Route => ({
  methods: ['GET'],
  path: '/metrics',
  describe: () => [
    {
      id: 'getMetrics',
      tag: 'operation',
      summary: 'Read the metrics of the process',
      answers: {
        200: { description: "Prometheus's text format.", schema: { type: 'string' }, mediaType: 'text/plain' },
      },
      problems: [],
      security: [],
    },
  ],
  handle: async () => ({ status: 200, headers: headersOf(metrics), body: await metrics.text() }),
})

const headersOf = ({ contentType }: Metrics) => ({ 'content-type': contentType, 'cache-control': 'no-store' })

/** Serves nothing but `/metrics` there. Resolves to what ends it; @throws OperatorError when the system refuses */
export async function listenForMetrics(
  metrics: Metrics,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<() => Promise<void>> {
  const server = createServer((request, response) => {
    if (request.url !== '/metrics' || !['GET', 'HEAD'].includes(request.method ?? '')) {
      response.writeHead(404).end()
      return
    }
    metrics.text().then(
      (text) => response.writeHead(200, headersOf(metrics)).end(text),
      () => response.writeHead(500).end(),
    )
  })
  await listenOn(server, { host, port })
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
}
