/**
 * Sends a POST to a URL that a client chose. The address that is really connected to is judged, after the name was
 * resolved, so that a name cannot lead inside later (DNS rebinding). No redirect is followed, no proxy is used, little
 * of the response is read, and everything has an end.
 */
import { lookup as lookupByDns } from 'node:dns'
import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as requestByHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestByHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { addressInHost, mayReach, type ReachRule } from './reachable-address.ts'

/** Resolves a name to all its addresses. */
export type Resolve = (
  hostname: string,
  callback: (error: Error | null, addresses: readonly { address: string; family: number }[]) => void,
) => void

interface GuardedPostOptions extends ReachRule {
  /** The longest time from the first step to the status of the answer, in milliseconds. */
  readonly timeoutMs: number
  /** The resolver of the machine when left out. */
  readonly resolve?: Resolve | undefined
  /** Further authorities of certificates; those of Node.js when left out. */
  readonly ca?: string | undefined
}

interface PostRequest {
  readonly url: string
  /** The header fields. */
  readonly fields: Readonly<Record<string, string>>
  readonly body: string
  /** Ends the request. */
  readonly signal?: AbortSignal | undefined
}

/** Why no answer came. */
export type PostFailure =
  | 'address-refused'
  | 'name-not-found'
  | 'timeout'
  | 'tls-failed'
  | 'connection-failed'
  | 'invalid-response'
  | 'aborted'

/** What came back: a status, or the reason why there is none. */
export type PostOutcome =
  | { readonly status: number; readonly retryAfter: string | undefined }
  | { readonly failure: PostFailure }

/** Sends requests over connections that it keeps. */
export interface GuardedPost {
  /** Never rejects. */
  send(request: PostRequest): Promise<PostOutcome>
  /** Ends the connections. */
  close(): void
}

/** So much of a response is read, so that the connection can be used again; then it is closed. */
const maxResponseBytes = 16 * 1024
/** How long the rest of a response may take, in milliseconds. */
const bodyTimeoutMs = 5_000

/** A kept connection can end just as a request begins. Such a request is sent again, so often at most. */
const maxTries = 20
const staleConnection = Symbol('stale connection')
type SendOutcome = PostOutcome | typeof staleConnection

class AddressRefused extends Error {}

/** Makes a sender. */
export function createGuardedPost(options: GuardedPostOptions): GuardedPost {
  const common = { keepAlive: true, keepAliveMsecs: 5_000, maxFreeSockets: 16, timeout: 30_000 }
  const agents = { 'http:': new HttpAgent(common), 'https:': new HttpsAgent(common) }
  return {
    send: async (request) => {
      for (let tries = 1; ; tries += 1) {
        const outcome = await sendOne(request, options, agents)
        if (outcome !== staleConnection) return outcome
        if (tries >= maxTries) return { failure: 'connection-failed' }
      }
    },
    close: () => {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}

interface Agents {
  readonly 'http:': HttpAgent
  readonly 'https:': HttpsAgent
}

function sendOne(request: PostRequest, options: GuardedPostOptions, agents: Agents): Promise<SendOutcome> {
  const url = new URL(request.url)
  const { protocol } = url
  if (protocol !== 'http:' && protocol !== 'https:') return Promise.resolve({ failure: 'address-refused' })
  const literal = addressInHost(url.hostname)
  if (literal !== undefined && !mayReach(literal, protocol, options)) {
    return Promise.resolve({ failure: 'address-refused' })
  }
  const body = Buffer.from(request.body)
  const sending = {
    method: 'POST',
    headers: { ...request.fields, 'content-length': String(body.length) },
    lookup: guardedLookup(protocol, options),
    ...(request.signal ? { signal: request.signal } : {}),
  }
  return new Promise((resolve) => {
    const sent =
      protocol === 'https:'
        ? requestByHttps(url, { ...sending, agent: agents['https:'], ...(options.ca ? { ca: options.ca } : {}) })
        : requestByHttp(url, { ...sending, agent: agents['http:'] })
    settle(sent, options.timeoutMs, resolve)
    sent.end(body)
  })
}

function settle(sent: ClientRequest, timeoutMs: number, resolve: (outcome: SendOutcome) => void): void {
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    sent.destroy()
  }, timeoutMs)
  sent.on('response', (response) => {
    clearTimeout(timer)
    drain(response)
    const retryAfter = response.headers['retry-after']
    resolve({ status: response.statusCode ?? 0, retryAfter })
  })
  sent.on('error', (error) => {
    clearTimeout(timer)
    if (isLate) resolve({ failure: 'timeout' })
    else resolve(sent.reusedSocket && isReset(error) ? staleConnection : { failure: failureOf(error) })
  })
  // The switch to another protocol was not asked for.
  sent.on('upgrade', (_, socket) => {
    clearTimeout(timer)
    socket.destroy()
    resolve({ failure: 'invalid-response' })
  })
}

/** Reads the rest of a response and forgets it. */
function drain(response: IncomingMessage): void {
  let bytes = 0
  const timer = setTimeout(() => response.destroy(), bodyTimeoutMs)
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxResponseBytes) response.destroy()
  })
  response.on('close', () => clearTimeout(timer))
  response.on('error', () => undefined)
}

const resolveByDns: Resolve = (hostname, callback) =>
  lookupByDns(hostname, { all: true, verbatim: true }, (error, addresses) => callback(error, addresses ?? []))

/** Leaves out every address that may not be reached: what is connected to is one of the others. */
const guardedLookup =
  (protocol: string, { resolve = resolveByDns, ...rule }: GuardedPostOptions): LookupFunction =>
  (hostname, { all }, callback) =>
    resolve(hostname, (error, addresses) => {
      if (error) return callback(error, '')
      const reachable = addresses.filter(({ address }) => mayReach(address, protocol, rule))
      const [first] = reachable
      if (!first) return callback(new AddressRefused('no address of this name may be reached'), '')
      if (all) callback(null, [...reachable])
      else callback(null, first.address, first.family)
    })

const isReset = ({ code }: Error & { code?: string }): boolean => code === 'ECONNRESET' || code === 'EPIPE'

function failureOf(error: Error & { code?: string }): PostFailure {
  if (error instanceof AddressRefused) return 'address-refused'
  const code = String(error.code ?? '')
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'name-not-found'
  if (code === 'ABORT_ERR') return 'aborted'
  if (code.startsWith('HPE_')) return 'invalid-response'
  if (/^ERR_(?:TLS|SSL)_|CERT|^EPROTO$|SIGNATURE|SELF_SIGNED|ISSUER/.test(code)) return 'tls-failed'
  return code === 'ETIMEDOUT' ? 'timeout' : 'connection-failed'
}
