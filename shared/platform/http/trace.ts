/**
 * The trace a request belongs to (W3C Trace Context): what ties the log lines of both servers together. A client's `traceparent` goes on;
 * without one, the request's own id begins a trace. Nothing else of it is believed, and no span is exported. It is handed from hand to hand:
 * an AsyncLocalStorage would cost each request a seventh of its time on Node.js 20, for the few that ask another server.
 */
import { randomBytes } from 'node:crypto'

/** What belongs to a trace, such as a request. */
export interface Traced {
  /** 32 hexadecimal digits. */
  readonly traceId: string
}

const form = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** The trace id in a `traceparent` field; undefined when there is none, or one that is not well-formed. */
export const traceIdOf = (traceparent: string | undefined): string | undefined =>
  traceparent === undefined ? undefined : form.exec(traceparent)?.[1]

/** The `traceparent` of a request that is made on behalf of another one. */
export const traceparent = ({ traceId }: Traced): string => `00-${traceId}-${randomBytes(8).toString('hex')}-00`

/** The trace that a request without one begins: its own id (a UUID) without hyphens. */
export const ownTraceId = (requestId: string): string => requestId.replaceAll('-', '')
