/** A client of Server-Sent Events for tests: it keeps what it was sent, and can stop reading. */
import { type IncomingMessage, request } from 'node:http'
import { pollMs } from '../campaign.ts'
import type { TestServer } from '../worlds/stack.ts'
import { rememberSecret } from './http-client.ts'

/** One event as it came. */
export interface SentEvent {
  readonly id: string
  readonly event: string
  readonly data: Readonly<Record<string, unknown>>
}

/** An open stream. */
export interface EventClient {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly events: readonly SentEvent[]
  /** What came that is no event: comments and `retry`. */
  readonly others: readonly string[]
  readonly hasEnded: boolean
  /** Resolves when `condition` holds of what has come so far; rejects after 20 s. */
  until(condition: (client: EventClient) => boolean): Promise<void>
  /** Reads no more. */
  pause(): void
  resume(): void
  close(): void
}

/** How it is opened. */
export interface EventClientOptions {
  /** Becomes `Authorization: Bearer`. */
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Such as `?after=0`. */
  readonly query?: string
  readonly lastEventId?: string
}

/** Opens a stream; resolves with the head of the answer, whatever its status. */
export function openEvents(server: Pick<TestServer, 'port'>, options: EventClientOptions): Promise<EventClient> {
  const { token } = options
  if (token !== undefined) rememberSecret(token)
  return new Promise((resolve, reject) => {
    const sent = request({
      port: server.port,
      host: '127.0.0.1',
      path: `/rest/v1/events${options.query ?? ''}`,
      agent: false,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...options.headers,
        ...(options.lastEventId === undefined ? {} : { 'last-event-id': options.lastEventId }),
      },
    })
    sent.on('response', (incoming) => resolve(new Client(incoming)))
    sent.on('error', reject)
    sent.end()
  })
}

class Client implements EventClient {
  readonly events: SentEvent[] = []
  readonly others: string[] = []
  hasEnded = false
  readonly #incoming: IncomingMessage
  readonly #waiting = new Set<() => void>()
  #text = ''

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming
    incoming.setEncoding('utf8')
    incoming.on('data', (text: string) => this.#take(text))
    const end = () => {
      this.hasEnded = true
      this.#changed()
    }
    incoming.on('end', end).on('close', end).on('error', end)
  }

  get status(): number {
    return this.#incoming.statusCode ?? 0
  }

  get headers(): IncomingMessage['headers'] {
    return this.#incoming.headers
  }

  until(condition: (client: EventClient) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (outcome: () => void) => {
        clearTimeout(timer)
        this.#waiting.delete(check)
        outcome()
      }
      const timer = setTimeout(() => {
        const came = `${this.events.length} events, ${this.hasEnded ? 'ended' : 'open'}`
        settle(() => reject(new Error(`what was waited for on the stream did not come: ${came}`)))
      }, pollMs)
      const check = () => {
        if (condition(this)) settle(resolve)
      }
      this.#waiting.add(check)
      check()
    })
  }

  pause(): void {
    this.#incoming.pause()
  }

  resume(): void {
    this.#incoming.resume()
  }

  close(): void {
    this.#incoming.destroy()
  }

  #take(text: string): void {
    const blocks = (this.#text + text).split('\n\n')
    this.#text = blocks.pop() ?? ''
    for (const block of blocks) {
      const match = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(block)
      if (match) this.events.push({ id: match[1] ?? '', event: match[2] ?? '', data: JSON.parse(match[3] ?? '') })
      else this.others.push(block)
    }
    this.#changed()
  }

  #changed(): void {
    for (const check of [...this.#waiting]) check()
  }
}
