/** Live events of deals: Server-Sent Events over fetch, with a new connection after each that ends. */
import { pause } from './core/clock.ts'
import { isProblem, KeyholdUnreachable } from './core/problem.ts'
import type { components } from './generated/deal.ts'
import type { Keyhold } from './keyhold.ts'

/** What is wanted of the events. */
export interface EventsOptions {
  /** Of this deal alone. */
  readonly deal?: string
  /** Of these types alone, such as `deal.held`. */
  readonly types?: readonly string[]
  /** Events after this position: `0` for all, or the `id` of the last one that you have handled. Left out: from now. */
  readonly after?: string
  /** Ends the events. */
  readonly signal?: AbortSignal
  /** Called for each connection that ended, with the reason. The next one follows by itself. */
  onInterruption?(reason: unknown): void
}

/** An event of a deal. */
export interface DealEvent {
  /** The position. Keep it when you have handled the event, and go on with `after`. */
  readonly id: string
  /** Such as `deal.held`; never `reset`. */
  readonly type: string
  /** The envelope; its `data` are what changed. */
  readonly data: components['schemas']['Event']
}

/**
 * Another PostgreSQL server took over. Events that came after this position, and the deals that they changed, may be
 * lost: read these deals again. All events after the position follow.
 */
export interface Reset {
  readonly id: string
  readonly type: 'reset'
  readonly data: { readonly position: string }
}

/** An event, or the news that events were lost. `isReset` tells them apart. */
export type KeyholdEvent = DealEvent | Reset

/**
 * True for the news that events may be lost.
 *
 * @example
 * ```ts
 * for await (const event of events(keyhold, { after: '0' })) {
 *   if (isReset(event)) console.log('read again what changed after', event.data.position)
 * }
 * ```
 */
export const isReset = (event: KeyholdEvent): event is Reset => event.type === 'reset'

/** The server sends a comment every 15 seconds: a connection without one for this long is dead. */
const silenceMs = 40_000
const firstPauseMs = 500
const longestPauseMs = 30_000

/**
 * The events of deals as they happen, until you leave the loop or the signal aborts. A connection that ends is followed
 * by another, which goes on after the last event.
 * @throws KeyholdProblem for a refusal that stays, such as `missing-right` or `outdated-cursor`
 *
 * @example
 * ```ts
 * for await (const event of events(keyhold, { types: ['deal.held'], signal })) console.log(event.id, event.type)
 * ```
 */
export async function* events(
  { fetch }: Pick<Keyhold, 'fetch'>,
  { deal, types, after, signal, onInterruption }: EventsOptions = {},
): AsyncGenerator<KeyholdEvent, void, undefined> {
  const query = new URLSearchParams({ ...(deal && { deal }), ...(types && { type: types.join(',') }) })
  let position = after
  let failures = 0
  const ended = () => signal?.aborted === true
  while (!ended()) {
    const connection = new Connection(signal)
    try {
      const headers = { accept: 'text/event-stream', ...(position !== undefined && { 'last-event-id': position }) }
      const init = { headers, signal: connection.signal, isStream: true }
      const { body } = await fetch('deal', `/rest/v1/events${query.size > 0 ? `?${query}` : ''}`, init)
      if (body) {
        for await (const event of connection.read(body)) {
          position = event.id
          failures = 0
          yield event
        }
      }
      failures += 1
      if (!ended()) onInterruption?.(new Error('The server ended the stream.'))
    } catch (error) {
      if (ended()) return
      if (!mayPass(error, connection)) throw error
      failures += 1
      onInterruption?.(error)
      if (isProblem(error)) await pause((error.retryAfter ?? 1) * 1000, signal).catch(() => undefined)
    } finally {
      connection.close()
    }
    const longest = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(failures, 10))
    await pause(longest * (0.5 + Math.random() / 2), signal).catch(() => undefined)
  }
}

/** True for a failure after which another connection may succeed. */
const mayPass = (error: unknown, connection: Connection): boolean =>
  error instanceof KeyholdUnreachable ||
  connection.hasFailed ||
  (isProblem(error) && [408, 429, 502, 503, 504].includes(error.status))

/** One connection. */
class Connection {
  /** True when the stream broke off, or was silent for too long. */
  hasFailed = false
  readonly #ending = new AbortController()
  readonly #outer: AbortSignal | undefined
  readonly #end = () => this.#ending.abort(this.#outer?.reason)

  constructor(outer: AbortSignal | undefined) {
    this.#outer = outer
    outer?.addEventListener('abort', this.#end)
    if (outer?.aborted) this.#end()
  }

  get signal(): AbortSignal {
    return this.#ending.signal
  }

  close(): void {
    this.#outer?.removeEventListener('abort', this.#end)
    this.#ending.abort()
  }

  async *read(body: ReadableStream<Uint8Array>): AsyncGenerator<KeyholdEvent, void, undefined> {
    const parse = createEventParser()
    const decoder = new TextDecoder()
    const reader = body.getReader()
    try {
      for (;;) {
        const { done, value } = await this.#nextOf(reader)
        if (done) return
        for (const { id, type, data } of parse(decoder.decode(value, { stream: true }))) {
          yield { id, type, data: JSON.parse(data) } as KeyholdEvent
        }
      }
    } finally {
      reader.cancel().catch(() => undefined)
    }
  }

  async #nextOf(reader: ReadableStreamDefaultReader<Uint8Array>) {
    const timer = setTimeout(() => this.#ending.abort(new Error('The stream was silent.')), silenceMs)
    try {
      return await reader.read()
    } catch (error) {
      this.hasFailed = true
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
}

/** The fields of one event. */
export interface ParsedEvent {
  readonly id: string
  readonly type: string
  readonly data: string
}

/** Makes a parser of the stream (WHATWG HTML §9.2.6). It takes text in pieces, and gives the events that are whole. */
export function createEventParser(): (text: string) => ParsedEvent[] {
  let rest = ''
  let id = ''
  let type = ''
  let data: string[] = []
  const take = (line: string): ParsedEvent | undefined => {
    if (line === '') {
      const event = data.length > 0 ? { id, type: type || 'message', data: data.join('\n') } : undefined
      type = ''
      data = []
      return event
    }
    const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
    if (field === 'data') data.push(value)
    else if (field === 'event') type = value
    else if (field === 'id' && !value.includes('\0')) id = value
    return undefined
  }
  return (text) => {
    // A carriage return at the end may be half of a line break.
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    return lines.map(take).filter((event) => event !== undefined)
  }
}
