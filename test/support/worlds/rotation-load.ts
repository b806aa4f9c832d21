/** Clients of all schemes that call one server after another without a pause, and get new credentials in time. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { SchemeName } from '../../../shared/protocol/authentication/scheme.ts'
import type { Reply } from '../clients/http-client.ts'
import { bearerClient } from '../clients/scheme-clients/bearer.ts'
import { schemeClients } from '../clients/scheme-clients/index.ts'
import type { CredentialledRequest, PlainRequest, SchemeClient } from '../clients/scheme-clients/scheme-client.ts'
import type { Stack, TestServer, Tokens } from './stack.ts'

/** One request and what came of it. */
export interface Call {
  readonly scheme: SchemeName
  readonly server: TestServer
  /** The key of the token it carried; undefined for schemes without one. */
  readonly kid: string | undefined
  /** When it was sent, on the monotonic clock. */
  readonly sentAt: number
  readonly request: string
  readonly reply: Pick<Reply, 'status' | 'text'>
  /** True when the answer came after the end of the token's life: the client was too slow. */
  readonly isLate: boolean
}

export interface LoadOptions {
  readonly stack: Stack
  /** All of them; clients log in at one after another. */
  readonly auths: readonly TestServer[]
  /** Each is so many clients. */
  readonly clientsPerScheme: number
  /** How long a token lives, in milliseconds; a client gets the next one after half of that. */
  readonly tokenTtlMs: number
  /** How long the servers were held up at most, in milliseconds. */
  heldUpMs(): number
  /** Told of every call. */
  note(call: Call): void
}

export interface Load {
  /** What a client met beside answers, such as no new token: then all have stopped. */
  failure(): unknown
  /** Resolves when all have had their last answer. @throws whatever a client met beside answers */
  stop(): Promise<void>
}

type Credential = (request: PlainRequest) => Promise<CredentialledRequest>

const username = 'alice'

/** Servers that were held up for so long may have refused what they could not do in time; milliseconds. */
export const heldUpForLongMs = 250

/**
 * How long a Digest nonce is used, in milliseconds: it lives for five minutes. API keys and sessions outlive the load;
 * to make a new key takes a token, and that of a key which is revoked at this moment would rightly fail.
 */
const nonceRenewedAfterMs = 120_000

/** Starts the clients. */
export function startLoad(options: LoadOptions): Load {
  const state: { stopped: boolean; failure?: unknown } = { stopped: false }
  const clients = schemeClients.flatMap((scheme) =>
    Array.from({ length: options.clientsPerScheme }, (_, index) => work(scheme, { ...options, index, state })),
  )
  const all = Promise.all(clients)
  all.catch((error: unknown) => {
    state.stopped = true
    state.failure = error
  })
  return {
    failure: () => state.failure,
    stop: async () => {
      state.stopped = true
      await all
    },
  }
}

interface Worker extends LoadOptions {
  readonly index: number
  readonly state: { stopped: boolean }
}

async function work(scheme: SchemeClient, worker: Worker): Promise<void> {
  const { stack, auths, state } = worker
  const renewOnce = renewals(scheme, worker)
  const renew = () =>
    renewOnce().catch((error: unknown) => {
      if (worker.heldUpMs() < heldUpForLongMs) throw error
      return renewOnce()
    })
  let held = await renew()
  // Not all at once, ever.
  let renewAt = performance.now() + held.lifeMs * (0.2 + (0.8 * worker.index) / worker.clientsPerScheme)
  for (let turn = worker.index; !state.stopped; turn += 1) {
    if (performance.now() >= renewAt) {
      held = await renew()
      renewAt = performance.now() + held.lifeMs
    }
    const servers = [...stack.deals, ...auths]
    const server = servers[turn % servers.length]
    if (!server) throw new TypeError('there is no server')
    const call = await callOnce({ scheme: scheme.name, server, credential: held.credential, turn }, auths)
    worker.note({ ...call, isLate: performance.now() > held.endsAt })
    // A client whose credential was refused gets another one.
    if (call.reply.status === 400 || call.reply.status === 401) renewAt = 0
    if (call.reply.status >= 500) await sleep(20)
  }
}

async function callOnce(
  {
    scheme,
    server,
    credential,
    turn,
  }: { scheme: SchemeName; server: TestServer; credential: Credential; turn: number },
  auths: readonly TestServer[],
): Promise<Omit<Call, 'isLate'>> {
  const { path, method, body } = auths.includes(server) ? me : (requests[turn % requests.length] ?? me)
  const plain = { method, url: server.url + path, ...(body && { body }) }
  const { url, headers } = await credential(plain)
  const sentAt = performance.now()
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  const response = await fetch(url, { method, headers: { ...type, ...headers }, ...(body && { body }) })
  const reply = { status: response.status, text: await response.text() }
  return { scheme, server, kid: kidOf(headers.authorization), sentAt, request: `${method} ${path}`, reply }
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly body?: string
}

const me: Sent = { method: 'GET', path: '/me' }
const list: Sent = { method: 'GET', path: '/rest/v1/deals?limit=1' }
const create: Sent = { method: 'POST', path: '/rest/v1/deals/', body: '{"name":"deal123","price":1234}' }
/** Taken in turn; their number has no divisor in common with that of servers. */
const requests: readonly Sent[] = [list, create, list, list, create, list, list]

/** The `kid` of the token in an `Authorization` field; undefined when it is no token. */
export function kidOf(authorization = ''): string | undefined {
  const [scheme, token = ''] = authorization.split(' ')
  if (scheme === 'KeySigned') return token.split('.')[1]
  if (scheme !== 'Bearer') return undefined
  return JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid
}

interface Held {
  readonly credential: Credential
  /** How long it is used, in milliseconds. */
  readonly lifeMs: number
  /** Until when it is good at least, on the monotonic clock. */
  readonly endsAt: number
}

/** Gets the first credential, and then the next one each time: with a refresh token where the scheme has that. */
function renewals(scheme: SchemeClient, { stack, auths, index, tokenTtlMs }: Worker): () => Promise<Held> {
  let turn = index
  const nextAuth = (): TestServer => {
    turn += 1
    return auths[turn % auths.length] ?? stack.auth
  }
  const hasToken = scheme.name === 'bearer' || scheme.name === 'key-signed'
  const otherwiseMs = scheme.name === 'digest' ? nonceRenewedAfterMs : Number.POSITIVE_INFINITY
  const lifeMs = hasToken ? tokenTtlMs / 2 : otherwiseMs
  let tokens: Tokens | undefined
  return async () => {
    // Times in tokens are whole seconds.
    const endsAt = hasToken ? performance.now() + tokenTtlMs - 1_000 : Number.POSITIVE_INFINITY
    if (scheme.name !== bearerClient.name)
      return { lifeMs, endsAt, credential: await scheme.open({ ...stack, auth: nextAuth() }, username) }
    tokens = tokens ? await refreshed(nextAuth(), tokens) : await stack.logIn(username)
    const headers = { authorization: `Bearer ${tokens.access}` }
    return { lifeMs, endsAt, credential: async ({ url }) => ({ url, headers }) }
  }
}

async function refreshed(auth: TestServer, { refresh }: Tokens): Promise<Tokens> {
  const { status, body, text } = await auth.send('/refresh', { method: 'POST', token: refresh })
  if (status !== 200) throw new Error(`/refresh answered ${status}: ${text}`)
  return { access: String(body.access_token), refresh: String(body.refresh_token) }
}
