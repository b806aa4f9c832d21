/**
 * The port of distributed traces. It is undefined where no traces are exported: servers then wrap nothing, and requests
 * take the same functions as without this folder. `opentelemetry/` implements it.
 */
import type { Cache } from '../cache/cache.ts'
import type { Database } from '../database/database.ts'
import type { TraceRequest } from '../http/server/routes.ts'
import type { Log } from '../log/log.ts'
import type { GuardedPost } from '../webhooks/guarded-post.ts'

/** What a span says beside its name: few values, never one of a client. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

/**
 * Makes a function whose calls within a request are spans. Calls outside of a request, or after its answer has begun,
 * are plain calls.
 */
export type Step = <Parameters extends readonly unknown[], Result>(
  name: string,
  work: (...parameters: Parameters) => Result,
  attributes?: (...parameters: Parameters) => SpanAttributes,
) => (...parameters: Parameters) => Result

/** The server whose traces are sent. */
export interface TracedServer {
  /** The name of the service, unless the settings have another one. */
  readonly service: string
  readonly version: string
  /** An id of this process. */
  readonly instance: string
  readonly log: Pick<Log, 'warn' | 'info'>
}

/** The traces of one server. */
export interface Tracing {
  /** Spans of requests, for `createApp`. */
  readonly traceRequest: TraceRequest
  readonly step: Step
  /** The same database; each statement of a request is a span with its operation and table, without its values. */
  database(database: Database): Database
  /** The same cache; each call of a request is a span, without keys and values. */
  cache(cache: Cache): Cache
  /** The same function; each request that is made for another one is a span, and carries its `traceparent`. */
  fetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch
  /** The same sender; each message is a span and carries its `traceparent`, and begins a trace where there is none. */
  post(post: GuardedPost): GuardedPost
  /** Sends what has not been sent, for two seconds at most. Never rejects. */
  close(): Promise<void>
}

/** The steps of `tracing`; without it, the functions themselves. */
export const stepsOf = (tracing: Pick<Tracing, 'step'> | undefined): Step => tracing?.step ?? ((_name, work) => work)

/** The resources of a server, whose database and cache are traced where traces are sent. */
export const traced = <
  Resources extends { readonly database: Database; readonly cache: Cache; readonly tracing?: Tracing | undefined },
>(
  resources: Resources,
): Resources => {
  const { tracing, database, cache } = resources
  return tracing ? { ...resources, database: tracing.database(database), cache: tracing.cache(cache) } : resources
}
