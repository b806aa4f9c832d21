/**
 * The trace of a request (W3C Trace Context). It connects the log lines of both servers. The trace of a client's
 * `traceparent` is continued; without one, the id of the request begins a trace. Nothing else of the field is used, and
 * no span is exported. The trace is passed as an argument: an AsyncLocalStorage would cost each request a seventh of
 * its time on Node.js 20, for the few requests that call another server.
 */
import { randomBytes } from 'node:crypto'

/** A part of a trace, such as a request. */
export interface Traced {
  /** 32 hexadecimal digits. */
  readonly traceId: string
}

const form = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** The trace id in a `traceparent` field; undefined when the field is missing or malformed. */
export const traceIdOf = (traceparent: string | undefined): string | undefined =>
  traceparent === undefined ? undefined : form.exec(traceparent)?.[1]

/** The `traceparent` of a request that is made for another one. */
export const traceparent = ({ traceId }: Traced): string => `00-${traceId}-${randomBytes(8).toString('hex')}-00`

/** The trace id of a request without `traceparent`: its request id (a UUID) without hyphens. */
export const ownTraceId = (requestId: string): string => requestId.replaceAll('-', '')
