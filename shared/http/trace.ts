/**
 * The trace a request belongs to (W3C Trace Context): what ties the log lines of both servers together. A client's `traceparent` goes on;
 * without one, the request's own id begins a trace. Nothing else of it is believed, and no span is exported.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'

const form = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** The trace id in a `traceparent` field; undefined when there is none, or one that is not well-formed. */
export const traceIdOf = (traceparent: string | undefined): string | undefined =>
  traceparent === undefined ? undefined : form.exec(traceparent)?.[1]

const traces = new AsyncLocalStorage<string>()

/** Runs `work` as part of a trace. */
export const inTrace = <Result>(traceId: string, work: () => Result): Result => traces.run(traceId, work)

/** The `traceparent` of a request that is made on behalf of the one under way; undefined outside of any. */
export function traceparent(): string | undefined {
  const traceId = traces.getStore()
  return traceId === undefined ? undefined : `00-${traceId}-${randomBytes(8).toString('hex')}-00`
}

/** The trace that a request without one begins: its own id (a UUID) without hyphens. */
export const ownTraceId = (requestId: string): string => requestId.replaceAll('-', '')
