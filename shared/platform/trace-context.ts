/**
 * The trace of a request (W3C Trace Context). It connects the log lines of both servers. The trace of a client's
 * `traceparent` is continued; without one, the id of the request begins a trace. The trace is passed as an argument: an
 * AsyncLocalStorage would cost each request a seventh of its time on Node.js 20, for the few requests that call another
 * server. Only where spans are exported (`../tracing`), there is one.
 */
import { randomBytes } from 'node:crypto'

/** A part of a trace, such as a request. */
export interface Traced {
  /** 32 hexadecimal digits. */
  readonly traceId: string
}

/** The part of a trace that a request was made for. */
export interface TraceParent extends Traced {
  /** 16 hexadecimal digits. */
  readonly spanId: string
  /** True when the sender has recorded its part. */
  readonly isSampled: boolean
}

const form = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/

/** The trace id in a `traceparent` field; undefined when the field is missing or malformed. */
export const traceIdOf = (traceparent: string | undefined): string | undefined =>
  traceparent === undefined ? undefined : form.exec(traceparent)?.[1]

/** What a `traceparent` field says; undefined when the field is missing or malformed. */
export function traceParentOf(traceparent: string | undefined): TraceParent | undefined {
  const [, traceId, spanId, flags = ''] = form.exec(traceparent ?? '') ?? []
  if (traceId === undefined || spanId === undefined) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** The `traceparent` of a request that is made for another one. */
export const traceparent = ({ traceId }: Traced): string => `00-${traceId}-${randomBytes(8).toString('hex')}-00`

/** The `traceparent` of a request that is made for this part of a trace. */
export const traceparentOf = ({ traceId, spanId, isSampled }: TraceParent): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`

/** The trace id of a request without `traceparent`: its request id (a UUID) without hyphens. */
export const ownTraceId = (requestId: string): string => requestId.replaceAll('-', '')
