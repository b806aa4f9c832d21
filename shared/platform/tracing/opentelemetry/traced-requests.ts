/** Spans of requests, in and out, by the semantic conventions for HTTP. They have no path, no query and no field. */
import { SpanKind } from '@opentelemetry/api'
import type { TraceRequest } from '../../http/server/routes.ts'
import { traceParentOf } from '../../trace-context.ts'
import type { GuardedPost } from '../../webhooks/guarded-post.ts'
import type { SpanAttributes } from '../tracing.ts'
import type { RunningSpan, SpanStart, Spans } from './spans.ts'

/** Clients can send any method: others share a name (`_OTHER`). */
const knownMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'CONNECT'])

/** `begins` is told the id of the trace that the next span begins, if it begins one. */
export const createTraceRequest =
  (spans: Spans, begins: (traceId: string) => void): TraceRequest =>
  (request, route, answer) => {
    const isKnown = knownMethods.has(request.method)
    const hasRoute = route !== '*'
    const method = isKnown ? request.method : 'HTTP'
    const parent = traceParentOf(request.header('traceparent'))
    if (!parent) begins(request.traceId)
    const start = {
      name: hasRoute ? `${method} ${route}` : method,
      kind: SpanKind.SERVER,
      attributes: {
        'http.request.method': isKnown ? request.method : '_OTHER',
        'url.scheme': request.peer.isHttps ? 'https' : 'http',
        ...(hasRoute ? { 'http.route': route } : {}),
      },
      parent,
    }
    return spans.root(start, async (span) => {
      const response = await answer()
      const { status, problemCode } = response
      span.set({
        'http.response.status_code': status,
        ...(problemCode === undefined ? {} : { 'problem.code': problemCode }),
      })
      if (status >= 500) span.fail(problemCode ?? String(status))
      return response
    })
  }

/** The same `fetch`, with a span for each request that is made for another one. */
export const traceFetch =
  (fetch: typeof globalThis.fetch, spans: Spans): typeof globalThis.fetch =>
  (input, init) => {
    if (!spans.isWithinRequest()) return fetch(input, init)
    const method = init?.method ?? 'GET'
    const url = new URL(input instanceof Request ? input.url : input)
    return spans.within(clientSpan(method, method, url), async (span) => {
      const headers = new Headers(init?.headers)
      if (span) headers.set('traceparent', span.traceparent)
      const response = await fetch(input, { ...init, headers })
      span?.set({ 'http.response.status_code': response.status })
      if (response.status >= 400) span?.fail(String(response.status))
      return response
    })
  }

/** The same sender, with a span for each message. */
export function tracePost(post: GuardedPost, spans: Spans): GuardedPost {
  return {
    close: () => post.close(),
    send: (request) => {
      const start = clientSpan('POST webhook', 'POST', new URL(request.url))
      const send = async (span: RunningSpan | undefined) => {
        const fields = span ? { ...request.fields, traceparent: span.traceparent } : request.fields
        const outcome = await post.send({ ...request, fields })
        if ('failure' in outcome) span?.fail(outcome.failure)
        else {
          span?.set({ 'http.response.status_code': outcome.status })
          if (outcome.status >= 400) span?.fail(String(outcome.status))
        }
        return outcome
      }
      return spans.isWithinRequest() ? spans.within(start, send) : spans.root(start, send)
    },
  }
}

function clientSpan(name: string, method: string, { hostname, port, protocol }: URL): SpanStart {
  const attributes: SpanAttributes = {
    'http.request.method': method,
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
  }
  return { name, kind: SpanKind.CLIENT, attributes }
}
