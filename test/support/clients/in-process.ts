/**
 * Requests to an app in this process, without a socket: what Node.js would have parsed is made here. The listener has
 * no part in it: neither its rules (Host, dot segments, limits of the parser) nor streams that do not end. Suites about
 * these go through sockets.
 */
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Hono } from 'hono'
import { OpenStreams, type ServerBindings } from '../../../shared/platform/http/stream.ts'
import type { Exchange } from './http-client.ts'

type App = Pick<Hono<{ Bindings: ServerBindings }>, 'fetch'>

/** What Node's own `fetch` sends of itself. */
const ownFields = {
  connection: 'keep-alive',
  accept: '*/*',
  'accept-language': '*',
  'sec-fetch-mode': 'cors',
  'user-agent': 'node',
  'accept-encoding': 'gzip, deflate',
}

const loopback = Object.defineProperty(new Socket(), 'remoteAddress', { value: '127.0.0.1' })

/** Calls `app` in place of `fetch`. */
export const exchangeWith =
  (app: App): Exchange =>
  async (url, init) => {
    const { method } = init
    const body = init.body === undefined ? Buffer.alloc(0) : Buffer.from(init.body)
    const incoming = new IncomingMessage(loopback)
    const fields = fieldsOf(url, init)
    const { pathname, search } = new URL(url)
    Object.assign(incoming, { method, url: pathname + search, httpVersion: '1.1', complete: true })
    Object.assign(incoming, { headers: fields, rawHeaders: Object.entries(fields).flat() })
    if (body.length > 0) incoming.push(body)
    incoming.push(null)
    const outgoing = new ServerResponse(incoming)
    const streamed = collect(outgoing)
    const bindings = { incoming, outgoing, streams: new OpenStreams() } as unknown as ServerBindings
    const answer = await app.fetch(new Request(url, { method }), bindings)
    if (streamed.hasBegun()) return streamed.answer()
    const headers = new Headers(answer.headers)
    for (const [name, value] of Object.entries(outgoing.getHeaders())) {
      for (const line of [value].flat()) headers.append(name, String(line))
    }
    return { status: answer.status, headers, text: () => answer.text() }
  }

/** What a handler writes piece by piece, in place of an answer. */
function collect(outgoing: ServerResponse) {
  let head: { status: number; headers: Headers } | undefined
  const pieces: Buffer[] = []
  const ended = new Promise<void>((resolve) => {
    const end = () => {
      resolve()
      return outgoing
    }
    const write = (piece: string | Uint8Array) => pieces.push(Buffer.from(piece)) > 0
    const writeHead = (status: number, fields: Record<string, string>) => {
      head = { status, headers: new Headers(fields) }
      for (const [name, value] of Object.entries(outgoing.getHeaders())) {
        for (const line of [value].flat()) head.headers.append(name, String(line))
      }
      return outgoing
    }
    Object.assign(outgoing, { end, write, writeHead, flushHeaders: () => undefined })
  })
  const text = async () => {
    await ended
    return Buffer.concat(pieces).toString('utf8')
  }
  return {
    hasBegun: () => head !== undefined,
    answer: () => ({ status: head?.status ?? 0, headers: head?.headers ?? new Headers(), text }),
  }
}

/** Names in lower case. */
function fieldsOf(url: string, { method, headers, body }: Parameters<Exchange>[1]): Record<string, string> {
  const sent = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  const type = typeof body === 'string' ? { 'content-type': 'text/plain;charset=UTF-8' } : {}
  const mayHaveBody = body !== undefined || !['GET', 'HEAD', 'OPTIONS'].includes(method)
  const length = mayHaveBody ? { 'content-length': String(Buffer.byteLength(body ?? '')) } : {}
  return { host: new URL(url).host, ...ownFields, ...type, ...Object.fromEntries(sent), ...length }
}
