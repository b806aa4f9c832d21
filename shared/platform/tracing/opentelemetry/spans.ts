/**
 * Spans of OpenTelemetry, and the span that work belongs to. An AsyncLocalStorage carries it: this file is loaded only
 * where traces are sent.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { keepCallerContext } from '../../concurrency/caller-context.ts'
import { ProblemError, Unavailable } from '../../problems/errors.ts'
import { type TraceParent, traceparentOf } from '../../trace-context.ts'
import type { SpanAttributes } from '../tracing.ts'

/** What the work of one request shares. */
interface Owner {
  /** False when the answer has begun: what runs on, such as a timer, is no part of the request any more. */
  isOpen: boolean
}

interface Scope {
  readonly context: Context
  readonly owner: Owner
}

/** It takes time from every promise of the process while it is on: it is on while a recorded request is under way. */
const scopes = new AsyncLocalStorage<Scope>()
let underWay = 0

keepCallerContext(() => {
  const scope = scopes.getStore()
  return scope && ((work) => (scope.owner.isOpen ? scopes.run(scope, work) : work()))
})

/** A span to begin. */
export interface SpanStart {
  readonly name: string
  readonly kind: SpanKind
  readonly attributes: SpanAttributes
}

/** The span of work that runs. */
export interface RunningSpan {
  /** The `traceparent` of requests that the work makes. */
  readonly traceparent: string
  set(attributes: SpanAttributes): void
  /** Marks the work as failed; `type` is one of few words. */
  fail(type: string): void
}

/** Begins and ends spans. */
export interface Spans {
  /** Runs work as the first span of this server in a trace. The span ends when the work has its result. */
  root<Result>(
    start: SpanStart & { readonly parent?: TraceParent | undefined },
    work: (span: RunningSpan) => Promise<Result>,
  ): Promise<Result>
  /** Runs work as a span within the present request; without one, `work` gets no span. */
  within<Result>(start: SpanStart, work: (span: RunningSpan | undefined) => Promise<Result>): Promise<Result>
  /** True within a request that has not been answered. */
  isWithinRequest(): boolean
}

/** Makes spans of this tracer. */
export function createSpans(tracer: Tracer): Spans {
  const begin = ({ name, kind, attributes }: SpanStart, context: Context) =>
    tracer.startSpan(name, { kind, attributes }, context)
  const open = (): Scope | undefined => {
    const scope = scopes.getStore()
    return scope?.owner.isOpen ? scope : undefined
  }
  return {
    root: async ({ parent, ...start }, work) => {
      const span = begin(start, parent ? remote(parent) : ROOT_CONTEXT)
      // Without a scope nothing below it costs anything. Requests to other servers then carry the trace by themselves.
      if (!span.isRecording()) return work(new SpanOfWork(span))
      const owner: Owner = { isOpen: true }
      underWay += 1
      const scope = { context: trace.setSpan(ROOT_CONTEXT, span), owner }
      try {
        return await scopes.run(scope, () => settle(span, work))
      } finally {
        owner.isOpen = false
        underWay -= 1
        if (underWay === 0) scopes.disable()
      }
    },
    within: (start, work) => {
      const scope = open()
      if (scope === undefined) return work(undefined)
      const span = begin(start, scope.context)
      return scopes.run({ ...scope, context: trace.setSpan(scope.context, span) }, () => settle(span, work))
    },
    isWithinRequest: () => open() !== undefined,
  }
}

const remote = ({ traceId, spanId, isSampled }: TraceParent): Context =>
  trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: isSampled ? 1 : 0, isRemote: true })

/** Runs work and ends the span with it. */
async function settle<Result>(span: Span, work: (span: RunningSpan) => Promise<Result>): Promise<Result> {
  try {
    return await work(new SpanOfWork(span))
  } catch (error) {
    noteError(span, error)
    throw error
  } finally {
    span.end()
  }
}

/** A refusal is no failure. Messages stay out: only a log keeps them. */
function noteError(span: Span, error: unknown): void {
  if (error instanceof ProblemError) span.setAttribute('problem.code', error.code)
  else fail(span, error instanceof Unavailable ? 'unavailable' : error instanceof Error ? error.name : 'unknown')
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

/** A class: a trace that is not recorded has no use for the text. */
class SpanOfWork implements RunningSpan {
  readonly #span: Span

  constructor(span: Span) {
    this.#span = span
  }

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.#span.spanContext()
    return traceparentOf({ traceId, spanId, isSampled: (traceFlags & 1) === 1 })
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes)
  }

  fail(type: string): void {
    fail(this.#span, type)
  }
}
