/**
 * The listener of a server. It limits slow and large requests, answers problem documents also for requests that fail
 * below the framework, and ends in order.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, type Server as NetServer, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import type { Hono } from 'hono'
import type { IdSource } from '../../ids.ts'
import type { Log } from '../../log/log.ts'
import { isLoopbackHost } from '../../loopback.ts'
import { OperatorError } from '../../operator-error.ts'
import { type PlatformProblemCode, type PlatformProblems, problemDocument } from '../../problems/problem-document.ts'
import { securityHeaders, strictTransportSecurity } from '../security-headers.ts'
import { OpenStreams, type ServerBindings } from '../stream.ts'
import { addressOf } from '../transport.ts'
import { type Certificate, tlsRules } from './certificate.ts'
import { type DrainOptions, drain, keepAliveMs, trackConnections } from './drain.ts'
import { createHostRule, encodesUnreserved, hasDotSegment, plainAuthority } from './request-target.ts'

/** The app and the place of a listener. */
export interface ListenOptions {
  readonly app: Pick<Hono<{ Bindings: ServerBindings }>, 'fetch'>
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  readonly origin: string
  /** The origins of both servers. On a loopback `host`, requests for all other hosts are refused. */
  readonly publicOrigins: Readonly<Record<string, string>>
  /** The problems of requests that the app never sees. */
  readonly problems: PlatformProblems
  readonly ids: IdSource
  /** Gets a line for each request that is refused before the app sees it. */
  readonly log: Log
  /** The certificate for HTTPS; plain HTTP without one. */
  readonly certificate?: Certificate | undefined
  /**
   * Where connections come from that another process has accepted. Without it the server listens itself. Gets the
   * function that takes a connection.
   */
  readonly connections?: ((take: (socket: Socket) => void) => void) | undefined
}

/** A server that listens. */
export interface Listening {
  readonly port: number
  /** Stops listening, ends streams, and answers all accepted requests (`drain.ts`). */
  drain(options?: DrainOptions): Promise<void>
}

const requestTimeoutMs = 30_000
const headersTimeoutMs = 15_000
const maxHeaderBytes = 16 * 1024
const handshakeTimeoutMs = 10_000

/** Starts to listen. @throws OperatorError when the system refuses, such as for a port in use */
export async function listen(options: ListenOptions): Promise<Listening> {
  const streams = new OpenStreams()
  const { certificate } = options
  const limits = {
    requestTimeout: requestTimeoutMs,
    headersTimeout: headersTimeoutMs,
    connectionsCheckingInterval: 2_000,
    maxHeaderSize: maxHeaderBytes,
    requireHostHeader: false,
    keepAliveTimeout: keepAliveMs,
  }
  const listener = createListener(options, streams)
  const tls = certificate && { ...limits, ...tlsRules, ...certificate.pem, handshakeTimeout: handshakeTimeoutMs }
  const secureServer = tls && createTlsServer(tls, listener)
  const server = secureServer ?? createServer(limits, listener)
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (isOfHandshake(error)) socket.destroy()
    else endSocket(socket, problemOfClientError(error), options)
  })
  server.on('checkExpectation', (request, response) => {
    writeProblem({ request, response }, unknownExpectation, options)
  })
  server.on('connect', (_request, socket: Duplex) => {
    endSocket(socket, connectRefused, options)
  })
  const connections = trackConnections(server)
  const port = await takeConnections(server, options)
  const stopWatching = certificate?.watch((pem) => secureServer?.setSecureContext({ ...tlsRules, ...pem }))
  return {
    port,
    drain: (drainOptions) => {
      stopWatching?.()
      return drain(server, { connections, streams }, drainOptions)
    },
  }
}

/** Begins to serve connections. Answers the port. @throws OperatorError when the system refuses to listen */
async function takeConnections(server: NetServer, options: ListenOptions): Promise<number> {
  const { connections, port } = options
  if (!connections) {
    await listenOn(server, options)
    return (server.address() as AddressInfo).port
  }
  // With this event an HTTP server begins to look for requests that are too slow.
  server.emit('listening')
  connections((socket) => {
    socket.allowHalfOpen = true
    socket.setNoDelay(true)
    server.emit('connection', socket)
  })
  return port
}

/** Resolves when `server` listens. @throws OperatorError that names the address */
export async function listenOn(
  server: NetServer,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<void> {
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new OperatorError(`Cannot listen on ${host}:${port}: ${reason}`, { cause })
  }
}

/**
 * True for an error of the TLS handshake: plain HTTP on a TLS port, no common version. No answer can be sent before the
 * handshake is done.
 */
const isOfHandshake = ({ code }: NodeJS.ErrnoException): boolean => code !== undefined && /^ERR_(SSL|TLS)_/.test(code)

interface Occurrence {
  readonly code: PlatformProblemCode
  readonly detail: string
  readonly headers?: Readonly<Record<string, string>>
}

/** All methods that some path takes, for requests whose target is not a path. */
const allow = { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' }

const connectRefused: Occurrence = { code: 'method-not-allowed', detail: 'CONNECT is not served.', headers: allow }

const unknownExpectation: Occurrence = { code: 'expectation-failed', detail: 'Only 100-continue is understood.' }

const malformed: Occurrence = {
  code: 'malformed-request',
  detail: 'The request line or the Host header is malformed.',
}

const foreignHost: Occurrence = {
  code: 'misdirected-request',
  detail: 'This server listens on loopback, and is there for localhost and the hosts of the public origins alone.',
}

const dotSegment: Occurrence = {
  code: 'dot-segment',
  detail: 'The path has a segment . or .., plain or percent-encoded. Send the path that is meant.',
}

const encoded: Occurrence = {
  code: 'encoded-unreserved',
  detail: 'The path encodes a letter, a digit, -, ., _ or ~. Send these characters as they are.',
}

/** `OPTIONS *` asks about the server as a whole (RFC 9110 §9.3.7). */
const isAboutServer = ({ method, url }: IncomingMessage): boolean => method === 'OPTIONS' && url === '*'

function createListener(options: ListenOptions, streams: OpenStreams) {
  const answer = (request: Request, bindings: HttpBindings) =>
    options.app.fetch(request, Object.assign(bindings, { streams }))
  const listener = getRequestListener(answer as Parameters<typeof getRequestListener>[0], {
    hostname: 'localhost',
    errorHandler: () => problemResponse(malformed, options),
  })
  const hostRule = createHostRule(options)
  const refusalOf = (request: IncomingMessage): Occurrence | undefined => {
    if (!hasOneHost(request)) return malformed
    const host = hostRule(request)
    if (host !== 'served') return host === 'foreign' ? foreignHost : malformed
    const { url = '' } = request
    if (hasDotSegment(url)) return dotSegment
    return encodesUnreserved(url) ? encoded : undefined
  }
  const always = Object.entries(transportSecurity(options))
  const aboutServer = { ...securityHeaders, ...allow }
  return (request: IncomingMessage, response: ServerResponse) => {
    for (const [name, value] of always) response.setHeader(name, value)
    const refusal = refusalOf(request)
    if (!refusal && !isAboutServer(request)) {
      void listener(withPlainSpelling(request), response)
      return
    }
    readNoChunks(request, response)
    if (refusal) writeProblem({ request, response }, refusal, options)
    else response.writeHead(204, aboutServer).end()
  }
}

/** Ends a chunked request whose body no handler reads: Node.js would parse its chunks without any limit. */
function readNoChunks(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers['transfer-encoding'] === undefined) return
  response.once('finish', () => {
    if (!request.complete) request.destroy()
  })
}

/**
 * Puts the scheme of an absolute target into lower case, and an IPv6 address in `Host` into its shortest spelling. Both
 * spellings mean the same (RFC 3986 §3.1, RFC 5952), but the framework knows one alone.
 */
function withPlainSpelling(request: IncomingMessage): IncomingMessage {
  const { headers } = request
  if (headers.host !== undefined) headers.host = plainAuthority(headers.host)
  const [scheme] = /^https?(?=:)/i.exec(request.url ?? '') ?? []
  if (request.url && scheme) request.url = scheme.toLowerCase() + request.url.slice(scheme.length)
  return request
}

/**
 * Tells clients that use HTTPS, here or at a proxy in front, to keep using it. Not on loopback: a browser would apply
 * the rule to all other programs there, on every port.
 */
function transportSecurity({ origin, certificate }: ListenOptions): Readonly<Record<string, string>> {
  const { protocol, hostname } = new URL(origin)
  const isSecure = certificate !== undefined || protocol === 'https:'
  return isSecure && !isLoopbackHost(hostname) ? strictTransportSecurity : {}
}

/**
 * Several Host fields are refused: Node.js uses the first one, and a proxy in front may use another one (RFC 9112
 * §3.2).
 */
function hasOneHost({ httpVersion, rawHeaders }: IncomingMessage): boolean {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts === 1 || (hosts === 0 && httpVersion !== '1.1')
}

function problemOfClientError(error: NodeJS.ErrnoException): Occurrence {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return { code: 'headers-too-large', detail: `The header fields may have at most ${maxHeaderBytes} bytes.` }
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { code: 'request-timeout', detail: 'The request did not arrive in time.' }
    default:
      return { code: 'malformed-request', detail: 'The request is not well-formed HTTP/1.1.' }
  }
}

/** The known parts of a refused request. */
interface RefusedRequest {
  readonly method?: string | undefined
  readonly socket?: Duplex
}

/** Logs a refused request and renders its answer. */
function renderProblem(occurrence: Occurrence, options: ListenOptions, { method, socket }: RefusedRequest = {}) {
  const requestId = options.ids.uuid()
  const document = problemDocument(options.problems, occurrence, { origin: options.origin, requestId })
  const { status, code } = document
  const address = socket instanceof Socket ? addressOf(socket) : undefined
  options.log.info({ requestId, method, status, code, address })
  const headers = {
    ...securityHeaders,
    ...transportSecurity(options),
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    'x-request-id': requestId,
    connection: 'close',
    ...occurrence.headers,
  }
  return { status, headers, body: JSON.stringify(document) }
}

function problemResponse(occurrence: Occurrence, options: ListenOptions): Response {
  const { status, headers, body } = renderProblem(occurrence, options)
  return new Response(body, { status, headers })
}

function writeProblem(
  { request, response }: { request: IncomingMessage; response: ServerResponse },
  occurrence: Occurrence,
  options: ListenOptions,
): void {
  const { status, headers, body } = renderProblem(occurrence, options, request)
  response.writeHead(status, headers).end(body)
}

/** Answers on the socket itself, where Node.js gives no response object. */
function endSocket(socket: Duplex, occurrence: Occurrence, options: ListenOptions): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const { status, headers, body } = renderProblem(occurrence, options, { socket })
  const lines = Object.entries({ ...headers, 'content-length': String(Buffer.byteLength(body)) })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body}`)
}
