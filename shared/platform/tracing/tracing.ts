/**
 * The port of distributed traces. It is undefined where no traces are exported: servers then wrap nothing, and requests
 * take the same functions as without this folder. `opentelemetry/` implements it.
 */
import type { Database } from '../database/database.ts'
import type { TraceRequest } from '../http/server/routes.ts'
import type { Log } from '../log/log.ts'
import type { GuardedPost } from '../webhooks/guarded-post.ts'

/** What a span says beside its name: few values, never one of a client. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

/** The server whose traces are sent. */
export interface TracedServer {
  /** The name of the service, unless the settings have another one. */
  readonly service: string
  readonly version: string
  /** An id of this process. */
  readonly instance: string
  readonly log: Log
}

/** The traces of one server. */
export interface Tracing {
  /** Spans of requests, for `createApp`. */
  readonly traceRequest: TraceRequest
  /** The same database; each statement of a request is a span, without its text and values. */
  database(database: Database): Database
  /** The same function; each request that is made for another one is a span, and carries its `traceparent`. */
  fetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch
  /** The same sender; each message is a span and carries its `traceparent`, and begins a trace where there is none. */
  post(post: GuardedPost): GuardedPost
  /** Sends what has not been sent, for two seconds at most. Never rejects. */
  close(): Promise<void>
}
