import type { IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ProblemError } from '../problems/errors.ts'
import { ownTraceId, type Traced, traceIdOf } from '../trace-context.ts'
import type { Peer } from './transport.ts'

/** Larger bodies are refused with 413, in bytes, unless a route has its own limit. */
const defaultMaxBodyBytes = 256 * 1024

/**
 * The limit of bodies that are read before the caller is authenticated, in bytes. A name, a password or some tokens
 * need no more, and reading a large body takes time from all other requests.
 */
export const maxOpenBodyBytes = 16 * 1024

/** The caller, as the log names it: never by a credential. */
export interface NamedCaller {
  /** Undefined for a caller that is not a user, such as another server. */
  readonly userId?: string
  /** The id of another program that calls for itself. */
  readonly serviceId?: string
  /** The id of an application that calls for a user. */
  readonly clientId?: string
  /** The authentication scheme. */
  readonly scheme: string
}

/**
 * A request as handlers and schemes see it: with the original text, not with values that a framework has normalized.
 */
export interface HttpRequest extends Traced {
  readonly method: string
  /** The path exactly as on the request line, without the query. */
  readonly path: string
  /** The text behind the first `?`; empty when there is none. */
  readonly rawQuery: string
  /** The query parameters in order, decoded like HTML forms (`+` is a space). Parsed once. Do not change them. */
  readonly query: URLSearchParams
  /** True for a query parameter that belongs to the credential of the request. No route reads it. */
  isCredentialParameter(name: string): boolean
  /** The decoded parameters of the route's path. */
  readonly pathParameters: Readonly<Record<string, string>>
  /** UUIDv7. It is in every log line and problem document about this request. */
  readonly requestId: string
  readonly peer: Peer
  /** The value of a header field. Several lines of a list-valued field are joined by commas. */
  header(name: string): string | undefined
  /** The value of each line of this field, in order. */
  headerLines(name: string): string[]
  /**
   * True for a request that another server has received and describes: it keeps the body, and compares digests of it.
   * `readBody` then gives nothing, and `content-length` says whether there is a body.
   */
  readonly isBodyElsewhere?: boolean
  /**
   * Reads the whole body. @throws ProblemError `body-too-large` beyond the limit; `malformed-request` when the client
   * goes away
   */
  readBody(): Promise<Buffer>
  /**
   * True when the client has closed its connection. Waits two turns of the event loop: a process that stood still finds
   * the end of a connection after the request that came before it.
   */
  hasClosed(): Promise<boolean>
  /** Checks the size that the request declares, without reading. @throws ProblemError `body-too-large` */
  refuseLargeBody(): void
  /** Adds a header line to every answer of this request, such as `Authentication-Info` (RFC 7615). */
  addResponseHeader(name: string, value: string): void
  /** The added lines, in order. */
  readonly addedResponseHeaders: readonly (readonly [name: string, value: string])[]
  /** The caller, set after authentication. */
  caller: NamedCaller | undefined
  /**
   * The origin that the client called, where a proxy asks about a request to another service. Undefined for a request
   * to this server.
   */
  readonly foreignOrigin?: string
  /** The audience of that other service, where it has one of its own and the proxy names it. */
  foreignAudience?: string | undefined
  /** The request that this one asks about, for the log. */
  asksAbout?: HttpRequest | undefined
}

/** The parts that a call is made of. */
export interface RequestOrigin {
  readonly incoming: IncomingMessage
  readonly pathParameters: Readonly<Record<string, string>>
  readonly requestId: string
  readonly peer: Peer
  /** The largest body, in bytes; 256 KiB when left out. */
  readonly maxBodyBytes?: number | undefined
  /** See {@link HttpRequest.isCredentialParameter}; no parameter when left out. */
  readonly isCredentialParameter?: ((name: string) => boolean) | undefined
}

/** Creates a call from the request that Node.js parsed. */
export const createHttpRequest = (origin: RequestOrigin): HttpRequest => new ParsedRequest(origin)

/** A class: closures would have to be created for every request. */
class ParsedRequest implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly rawQuery: string
  readonly pathParameters: Readonly<Record<string, string>>
  readonly requestId: string
  readonly peer: Peer
  caller: NamedCaller | undefined = undefined
  asksAbout: HttpRequest['asksAbout'] = undefined
  readonly isCredentialParameter: (name: string) => boolean
  readonly #incoming: IncomingMessage
  readonly #maxBodyBytes: number
  #query: URLSearchParams | undefined
  #body: Promise<Buffer> | undefined
  #added: (readonly [string, string])[] = nothingAdded

  constructor(origin: RequestOrigin) {
    const { incoming, pathParameters, requestId, peer, maxBodyBytes = defaultMaxBodyBytes } = origin
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

  async hasClosed(): Promise<boolean> {
    await nextTurn()
    await nextTurn()
    return this.#incoming.socket.destroyed
  }

  refuseLargeBody(): void {
    if (Number(this.header('content-length') ?? 0) > this.#maxBodyBytes) throw bodyTooLarge(this.#maxBodyBytes)
  }

  addResponseHeader(name: string, value: string): void {
    this.#added = [...this.#added, [name, value]]
  }

  get addedResponseHeaders(): readonly (readonly [string, string])[] {
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
      // Node.js parses all chunks of a turn, whatever happens here. Only closing the connection saves the time of other
      // requests.
      else if (coding !== undefined && chunks.length > freeChunks && size < chunks.length * leastChunkBytes)
        incoming.destroy()
    }
    const finish = () => settle(() => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
    const fail = () =>
      settle(() => reject(new ProblemError('malformed-request', 'The connection ended before the body did.')))
    // Events and not an iterator: an iterator costs more than all the rest of a small request.
    incoming.on('data', take).on('end', finish).on('error', fail).on('close', fail)
  })
}

const noBytes: Buffer = Buffer.alloc(0)

/** This many chunks may have any size. With more chunks, their average size must be at least `leastChunkBytes`. */
const freeChunks = 512
const leastChunkBytes = 16

const bodyTooLarge = (maxBytes: number) =>
  new ProblemError('body-too-large', `A body may have at most ${maxBytes} bytes.`, { headers: { connection: 'close' } })
