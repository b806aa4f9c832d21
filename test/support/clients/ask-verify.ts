/** Asks GET /verify as a proxy does that stands in front of another service. */
import { request } from 'node:http'
import type { Stack, TestServer } from '../worlds/stack.ts'
import { membersOf, type Reply, rememberSecret } from './http-client.ts'
import type { SchemeClient } from './scheme-clients/scheme-client.ts'

/** The request of a client to the other service. */
export interface OriginalRequest {
  readonly method?: string
  /** Path and query. */
  readonly target?: string
  /** `https://service.test` when left out. */
  readonly origin?: string
  /** What the proxy passes on. An array becomes as many lines. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** Passed on, where the proxy passes bodies on. */
  readonly body?: string
}

/** How the proxy asks. */
export interface Question {
  /** Of the question itself, such as `right=deal.read`. */
  readonly query?: string
  /** Fields that it writes otherwise; undefined: it does not write the field. */
  readonly written?: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The method of the question itself. */
  readonly by?: string
}

/** Where the suites of forward-auth have their service. */
export const serviceOrigin = 'https://service.test'

/** The settings under which a test is a trusted proxy. */
export const proxySettings = { TRUST_PROXY: '127.0.0.1/32', AUTH_PUBLIC_ORIGIN: 'https://keyhold.test' } as const

/** Sends the question. */
export function askVerify(server: TestServer, original: OriginalRequest = {}, question: Question = {}): Promise<Reply> {
  const { method = 'GET', target = '/things', origin = serviceOrigin, headers = {}, body } = original
  const { protocol, host } = new URL(origin)
  const fields: Record<string, string | readonly string[] | undefined> = {
    ...headers,
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-method': method,
    'x-forwarded-uri': target,
    'x-forwarded-host': host,
    'x-forwarded-proto': protocol.slice(0, -1),
    ...question.written,
  }
  const written = Object.entries(fields).filter(([, value]) => value !== undefined)
  const path = question.query === undefined ? '/verify' : `/verify?${question.query}`
  const options = { host: '127.0.0.1', port: server.port, method: question.by ?? 'GET', path }
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
  return new Promise((resolve, reject) => {
    const sent = request({ ...options, headers: { ...Object.fromEntries(written), ...length } }, async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      const received = new Headers()
      for (let at = 0; at < response.rawHeaders.length; at += 2) {
        received.append(response.rawHeaders[at] ?? '', response.rawHeaders[at + 1] ?? '')
      }
      const token = received.get('keyhold-token')
      if (token !== null) rememberSecret(token)
      resolve({ status: response.statusCode ?? 0, headers: received, text, body: membersOf(text) })
    })
    sent.on('error', reject).end(body)
  })
}

/** Adds a credential to a request to the other service. */
export type AddCredential = (original: OriginalRequest) => Promise<OriginalRequest>

/** Gets what the user needs for the scheme. Its requests are bound to their target, and not to a host. */
export async function credentialOf(client: SchemeClient, stack: Stack, username: string): Promise<AddCredential> {
  const add = await client.open(stack, username)
  return async ({ method = 'GET', target = '/things', body, headers, ...others }) => {
    // Digest gets its nonce from the host of the URL.
    const plain = { method, url: stack.auth.url + target, ...(body !== undefined && { body }) }
    const { url, headers: added } = await add(plain)
    const bound = url.slice(stack.auth.url.length)
    return { ...others, method, target: bound, headers: { ...headers, ...added }, ...(body !== undefined && { body }) }
  }
}
