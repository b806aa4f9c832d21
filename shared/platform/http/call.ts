import type { IncomingMessage } from 'node:http'
import { Refused } from '../problems/errors.ts'
import { ownTraceId, type Traced, traceIdOf } from './trace.ts'
import type { Peer } from './transport.ts'

/** Bodies larger than this are refused with 413, in bytes, where the route takes no smaller ones only. */
const usualMaxBodyBytes = 256 * 1024

/**
 * The same where bodies are read before anybody has shown who he is: a name, a password or some tokens need no more, and to read a large
 * one takes the time of all other requests.
 */
export const maxOpenBodyBytes = 16 * 1024

/** Who calls, as the line of the request in the log names it: never by a credential. */
export interface NamedCaller {
  /** Undefined where it is no user: another server. */
  readonly userId?: string
  /** How it was proved. */
  readonly scheme: string
}

/** A request as handlers and schemes see it: what stood on the wire, not what a framework made of it. */
export interface HttpCall extends Traced {
  readonly method: string
  /** The path exactly as on the request line, without the query. */
  readonly path: string
  /** What stood behind the first `?`, without it; empty when there was none. */
  readonly rawQuery: string
  /** Its parameters in order, decoded as HTML forms are (`+` is a space); read once. Not to be changed. */
  readonly query: URLSearchParams
  /** True for a parameter of the query that belongs to the request's credential: no route reads it. */
  isCredentialParameter(name: string): boolean
  /** The decoded parameters of the route's path. */
  readonly pathParameters: Readonly<Record<string, string>>
  /** UUIDv7, in every log line and problem document about this request. */
  readonly requestId: string
  readonly peer: Peer
  /** The value of a header field; several lines of a list-valued field joined by a comma. */
  header(name: string): string | undefined
  /** The value of each line of this field, in order. */
  headerLines(name: string): string[]
  /** The whole body. @throws Refused `body-too-large` beyond the limit; `malformed-request` when the client goes away */
  readBody(): Promise<Buffer>
  /** Adds a line to the answer, whatever the answer will be: `Authentication-Info` (RFC 7615). */
  addAnswerHeader(name: string, value: string): void
  /** What was added, in order. */
  readonly addedAnswerHeaders: readonly (readonly [name: string, value: string])[]
  /** Who calls, once that is proved; set by what proves it. */
  caller: NamedCaller | undefined
}

export interface CallOrigin {
  readonly incoming: IncomingMessage
  readonly pathParameters: Readonly<Record<string, string>>
  readonly requestId: string
  readonly peer: Peer
  /** How large a body may be, in bytes; 256 KiB when left out. */
  readonly maxBodyBytes?: number | undefined
  /** See {@link HttpCall.isCredentialParameter}; no parameter when left out. */
  readonly isCredentialParameter?: ((name: string) => boolean) | undefined
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
  caller: NamedCaller | undefined = undefined
  readonly isCredentialParameter: (name: string) => boolean
  readonly #incoming: IncomingMessage
  readonly #maxBodyBytes: number
  #query: URLSearchParams | undefined
  #body: Promise<Buffer> | undefined
  #added: (readonly [string, string])[] = nothingAdded

  constructor(origin: CallOrigin) {
    const { incoming, pathParameters, requestId, peer, maxBodyBytes = usualMaxBodyBytes } = origin
    const { path, rawQuery } = splitTarget(incoming.url ?? '/')
    this.method = incoming.method ?? 'GET'
    this.path = path
    this.rawQuery = rawQuery
    this.pathParameters = pathParameters
    this.requestId = requestId
    this.peer = peer
    this.isCredentialParameter = origin.isCredentialParameter ?? noParameter
    this.#incoming = incoming
    this.#maxBodyBytes = maxBodyBytes
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.rawQuery)
    return this.#query
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
    this.#body ??= readLimited(this.#incoming, this.#maxBodyBytes)
    return this.#body
  }

  addAnswerHeader(name: string, value: string): void {
    this.#added = [...this.#added, [name, value]]
  }

  get addedAnswerHeaders(): readonly (readonly [string, string])[] {
    return this.#added
  }
}

const noParameter = () => false

const nothingAdded: (readonly [string, string])[] = []

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

function readLimited(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { 'content-length': length, 'transfer-encoding': coding } = incoming.headers
  if ((length === undefined || length === '0') && coding === undefined) return Promise.resolve(noBytes)
  if (Number(length ?? 0) > maxBytes) return Promise.reject(bodyTooLarge(maxBytes))
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const settle = (outcome: () => void) => {
      incoming.off('data', take).off('end', finish).off('error', fail).off('close', fail)
      outcome()
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size > maxBytes) settle(() => reject(bodyTooLarge(maxBytes)))
      // Node.js takes a turn's worth of chunks apart whatever happens here, so only the connection's end saves the time of the others.
      else if (coding !== undefined && chunks.length > freeChunks && size < chunks.length * leastChunkBytes)
        incoming.destroy()
    }
    const finish = () => settle(() => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
    const fail = () =>
      settle(() => reject(new Refused('malformed-request', 'The connection ended before the body did.')))
    // Events, not iteration: an iterator over a body costs more than all the rest of a small request.
    incoming.on('data', take).on('end', finish).on('error', fail).on('close', fail)
  })
}

const noBytes: Buffer = Buffer.alloc(0)

/** So many chunks may be as small as they like; beyond, they have so many bytes on average. */
const freeChunks = 512
const leastChunkBytes = 16

const bodyTooLarge = (maxBytes: number) =>
  new Refused('body-too-large', `A body may have at most ${maxBytes} bytes.`, { headers: { connection: 'close' } })
