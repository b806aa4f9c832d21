import type { IncomingMessage } from 'node:http'
import { Refused } from '../errors.ts'
import { ownTraceId, type Traced, traceIdOf } from './trace.ts'
import type { Peer } from './transport.ts'

/** Bodies larger than this are refused with 413, in bytes. */
const maxBodyBytes = 256 * 1024

/** A request as handlers and schemes see it: what stood on the wire, not what a framework made of it. */
export interface HttpCall extends Traced {
  readonly method: string
  /** The path exactly as on the request line, without the query. */
  readonly path: string
  /** What stood behind the first `?`, without it; empty when there was none. */
  readonly rawQuery: string
  /** The decoded parameters of the route's path. */
  readonly pathParameters: Readonly<Record<string, string>>
  /** UUIDv7, in every log line and problem document about this request. */
  readonly requestId: string
  readonly peer: Peer
  /** The value of a header field; several lines of a list-valued field joined by a comma. */
  header(name: string): string | undefined
  /** The value of each line of this field, in order. */
  headerLines(name: string): string[]
  /** The whole body. @throws Refused `body-too-large` beyond `maxBodyBytes`; `malformed-request` when the client goes away */
  readBody(): Promise<Buffer>
  /** Adds a line to the answer, whatever the answer will be: `Authentication-Info` (RFC 7615). */
  addAnswerHeader(name: string, value: string): void
  /** What was added, in order. */
  readonly addedAnswerHeaders: readonly (readonly [name: string, value: string])[]
}

export interface CallOrigin {
  readonly incoming: IncomingMessage
  readonly pathParameters: Readonly<Record<string, string>>
  readonly requestId: string
  readonly peer: Peer
}

/** A call from what Node.js parsed. */
export const createCall = (origin: CallOrigin): HttpCall => new ParsedCall(origin)

/** A class, since a closure for each of its functions would have to be made for each request. */
class ParsedCall implements HttpCall {
  readonly method: string
  readonly path: string
  readonly rawQuery: string
  readonly pathParameters: Readonly<Record<string, string>>
  readonly requestId: string
  readonly peer: Peer
  readonly #incoming: IncomingMessage
  #body: Promise<Buffer> | undefined
  #added: (readonly [string, string])[] = nothingAdded

  constructor({ incoming, pathParameters, requestId, peer }: CallOrigin) {
    const { path, rawQuery } = splitTarget(incoming.url ?? '/')
    this.method = incoming.method ?? 'GET'
    this.path = path
    this.rawQuery = rawQuery
    this.pathParameters = pathParameters
    this.requestId = requestId
    this.peer = peer
    this.#incoming = incoming
  }

  get traceId(): string {
    return traceIdOf(this.header('traceparent')) ?? ownTraceId(this.requestId)
  }

  header(name: string): string | undefined {
    const value = this.#incoming.headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }

  headerLines(name: string): string[] {
    return linesOf(this.#incoming.rawHeaders, name)
  }

  readBody(): Promise<Buffer> {
    this.#body ??= readLimited(this.#incoming)
    return this.#body
  }

  addAnswerHeader(name: string, value: string): void {
    this.#added = [...this.#added, [name, value]]
  }

  get addedAnswerHeaders(): readonly (readonly [string, string])[] {
    return this.#added
  }
}

const nothingAdded: (readonly [string, string])[] = []

/** The query parameters in order, decoded as HTML forms are: `+` is a space. */
export const queryOf = (call: HttpCall): URLSearchParams => new URLSearchParams(call.rawQuery)

function splitTarget(target: string): { path: string; rawQuery: string } {
  const pathAndQuery = target.startsWith('/') ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '') || '/'
  const mark = pathAndQuery.indexOf('?')
  if (mark < 0) return { path: pathAndQuery, rawQuery: '' }
  return { path: pathAndQuery.slice(0, mark), rawQuery: pathAndQuery.slice(mark + 1) }
}

function linesOf(rawHeaders: readonly string[], name: string): string[] {
  const lines: string[] = []
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const candidate = rawHeaders[index] ?? ''
    if (candidate.length === name.length && candidate.toLowerCase() === name) lines.push(rawHeaders[index + 1] ?? '')
  }
  return lines
}

function readLimited(incoming: IncomingMessage): Promise<Buffer> {
  const { 'content-length': length, 'transfer-encoding': coding } = incoming.headers
  if ((length === undefined || length === '0') && coding === undefined) return Promise.resolve(noBytes)
  if (Number(length ?? 0) > maxBodyBytes) return Promise.reject(bodyTooLarge())
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const settle = (outcome: () => void) => {
      incoming.off('data', take).off('end', finish).off('error', fail).off('close', fail)
      outcome()
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size <= maxBodyBytes) chunks.push(chunk)
      else settle(() => reject(bodyTooLarge()))
    }
    const finish = () => settle(() => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
    const fail = () =>
      settle(() => reject(new Refused('malformed-request', 'The connection ended before the body did.')))
    // Events, not iteration: an iterator over a body costs more than all the rest of a small request.
    incoming.on('data', take).on('end', finish).on('error', fail).on('close', fail)
  })
}

const noBytes: Buffer = Buffer.alloc(0)

const bodyTooLarge = () =>
  new Refused('body-too-large', `A body may have at most ${maxBodyBytes} bytes.`, { headers: { connection: 'close' } })
