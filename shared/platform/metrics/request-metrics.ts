import type { AnsweredRequest } from '../http/server/routes.ts'
import type { Metrics, ServerName } from './metrics.ts'

/** From the fastest answer to a request near its time limit, in seconds. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Methods with a label of their own. All others share a label, since clients can send any method. */
const knownMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** Counts and times requests by method, route and status. */
export function observeRequests(metrics: Metrics, server: ServerName): (request: AnsweredRequest) => void {
  const total = metrics.counter({
    name: 'http_requests_total',
    help: 'Requests answered.',
    labels: ['method', 'route', 'status'],
  })
  const duration = metrics.histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the head of a request to its answer; for a stream, to its beginning.',
    labels: ['method', 'route'],
    buckets,
  })
  return ({ method: sent, route, status, durationMs }) => {
    const method = knownMethods.has(sent) ? sent : 'other'
    total.inc({ server, method, route, status })
    duration.observe({ server, method, route }, durationMs / 1000)
  }
}
