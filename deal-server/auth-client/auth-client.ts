/** What the deal server asks of the auth server over the network: its public documents, and everything at `/internal`. Every call has a deadline, and a shorter one where the auth server is frozen. */

import type { Clock } from '../../shared/platform/clock.ts'
import { frozenAfterMs } from '../../shared/platform/concurrency/liveness.ts'
import { type Traced, traceparent } from '../../shared/platform/http/trace.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import { questionOf } from '../../shared/protocol/internal-api/exchange.ts'
import { feedExchange } from '../../shared/protocol/internal-api/feed.ts'
import { principalExchange } from '../../shared/protocol/internal-api/principal.ts'
import { signInternalRequest } from '../../shared/protocol/internal-api/requests.ts'
import {
  type AnsweredInternalRequest,
  instanceHeader,
  isInternalResponse,
  keySetHeader,
} from '../../shared/protocol/internal-api/responses.ts'
import { instanceIdSchema } from '../../shared/protocol/principal/instance-id.ts'
import type { InstancePrincipal } from '../../shared/protocol/principal/record.ts'
import { refuseWhileFrozen } from './refuse-while-frozen.ts'

export interface AuthClient {
  /** The record as the database has it now, and which instance that is. @throws Unavailable */
  principal(username: string, traceContext?: Traced): Promise<InstancePrincipal>
  /** Whose feed and cache there is to follow. @throws Unavailable */
  instanceId(): Promise<string>
  /** A public document such as `/.well-known/jwks.json`, parsed and unchecked. @throws Unavailable unless it answers 200 */
  document(path: string): Promise<unknown>
  /**
   * Asks below `/internal`; a body goes as JSON. @throws Unavailable when nothing answers, or something that is not JSON, or that is
   * not proved to be the auth server's answer to this very question (`shared/protocol/internal-api/responses.ts`)
   */
  ask(question: InternalQuestion): Promise<InternalResponse>
  /** From now on it is not asked any more. */
  stop(): void
}

export interface InternalQuestion {
  readonly method: 'GET' | 'POST'
  /** Path and query behind `/internal`; variable parts encoded. */
  readonly target: string
  readonly body?: unknown
  /** The request that asks, if one does. */
  readonly traceContext?: Traced | undefined
  /** How long the answer may take, in milliseconds; 3 000 when left out. */
  readonly deadlineMs?: number
}

/** What the auth server answered; never secret by itself (`shared/platform/crypto/internal-sealing.ts`). */
export interface InternalResponse {
  readonly status: number
  /** Undefined without a body. */
  readonly body: unknown
  readonly headers: Headers
}

export interface AuthClientPorts {
  /** Where the auth server is found (AUTH_URL), without a slash at the end. */
  readonly authUrl: string
  /** SERVICE_SECRET: the one that is used. */
  readonly secret: string
  readonly clock: Clock
  readonly ids: IdSource
  readonly fetch: typeof globalThis.fetch
  /** Told with every answer which keys are published (`shared/protocol/internal-api/published-keys.ts`). */
  readonly onPublishedKeys?: (keys: string) => void
}

/** How long an auth server that is not frozen may take, in milliseconds. */
const usualDeadlineMs = 3_000

interface AuthRequest {
  /** Path and query. */
  readonly target: string
  readonly method: string
  readonly headers: Headers
  readonly body?: string
  readonly deadlineMs?: number | undefined
}

/** A document that is never far: whether documents come is asked by it. */
const lightDocument = '/.well-known/jwks.json'

const feedQuestion = questionOf(feedExchange, { path: {}, body: undefined })

/** A client of the auth server at AUTH_URL. */
export function createAuthClient(ports: AuthClientPorts): AuthClient {
  const { secret, clock, ids } = ports
  const send = createSend(ports)
  const requestOf = ({
    method,
    target: behind,
    body: value,
    traceContext,
    deadlineMs,
  }: InternalQuestion): AuthRequest & { readonly nonce: string } => {
    const target = `/internal${behind}`
    const body = value === undefined ? '' : JSON.stringify(value)
    const nonce = ids.secret(18)
    const headers = new Headers({
      ...(traceContext === undefined ? {} : { traceparent: traceparent(traceContext) }),
      authorization: signInternalRequest({ method, target, body }, { secret, clock, nonce }),
      ...(value === undefined ? {} : { 'content-type': 'application/json' }),
    })
    return { target, method, headers, deadlineMs, ...(value === undefined ? {} : { body }), nonce }
  }
  // Caches may stand before the documents: that they do not come says nothing of whether questions are answered.
  const questions = refuseWhileFrozen(send, () => light(requestOf(feedQuestion)))
  const documents = refuseWhileFrozen(send, () => light(documentRequest(lightDocument)))
  const [request, requestDocument] = [failFast(questions.ask), failFast(documents.ask)]
  const ask = async (question: InternalQuestion): Promise<InternalResponse> => {
    const asked = requestOf(question)
    const answer = await request(asked)
    requireProved(answer, { secret, nonce: asked.nonce })
    const { status, headers, text } = answer
    const keys = headers.get(keySetHeader)
    if (keys !== null) ports.onPublishedKeys?.(keys)
    return { status, headers, body: text === '' ? undefined : parseJson(text) }
  }
  return {
    ask,
    stop: () => {
      for (const part of [questions, documents]) part.stop()
    },
    principal: async (username, traceContext) => {
      const question = questionOf(principalExchange, { path: { username }, body: undefined })
      const { status, headers, body } = await ask({ ...question, traceContext })
      const instance = instanceIdSchema.safeParse(headers.get(instanceHeader))
      const record = status === 200 ? principalExchange.responseBody.safeParse(body).data : undefined
      if (instance.success && (record || status === 404)) return { instanceId: instance.data, record }
      throw new Unavailable('auth-server', { cause: new Error(`/internal/principals answered ${status}`) })
    },
    instanceId: async () => {
      const { status, body } = await ask(feedQuestion)
      const answer = status === 200 ? feedExchange.responseBody.safeParse(body) : undefined
      if (answer?.success) return answer.data.instanceId
      throw new Unavailable('auth-server', { cause: new Error(`/internal/feed answered ${status}`) })
    },
    document: async (path) => {
      const { status, text } = await requestDocument(documentRequest(path))
      if (status === 200) return parseJson(text)
      throw new Unavailable('auth-server', { cause: new Error(`${path} answered ${status}`) })
    },
  }
}

/** @throws Unavailable when no answer has come by the deadline, or before it is aborted */
function createSend({ authUrl, fetch }: AuthClientPorts) {
  return async ({ target, deadlineMs = usualDeadlineMs, ...init }: AuthRequest, abort: AbortController) => {
    const deadline = setTimeout(() => abort.abort(new Error(`no answer in ${deadlineMs} ms`)), deadlineMs)
    try {
      const response = await fetch(authUrl + target, { ...init, signal: abort.signal, redirect: 'error' })
      return { status: response.status, headers: response.headers, text: await response.text() }
    } catch (cause) {
      throw new Unavailable('auth-server', { cause })
    } finally {
      clearTimeout(deadline)
    }
  }
}

/** A cache on the way may have it as it was (RFC 9111 §5.2.1.4). */
const documentRequest = (target: string): AuthRequest => {
  return { target, method: 'GET', headers: new Headers({ 'cache-control': 'no-cache' }) }
}

const light = (request: AuthRequest): AuthRequest => ({ ...request, deadlineMs: frozenAfterMs })

/** An answer of a proxy on the way, of an auth server without this secret, or of whoever stands between is none. @throws Unavailable */
function requireProved(
  { status, text: body, headers }: { readonly status: number; readonly text: string; readonly headers: Headers },
  request: AnsweredInternalRequest,
): void {
  if (isInternalResponse({ status, body, header: (name) => headers.get(name) }, request)) return
  throw new Unavailable('auth-server', { cause: new Error(`/internal answered ${status} without the right MAC`) })
}

/** After a failure only one caller at a time waits for the auth server, until it answers; the others need not. */
function failFast<Parameters extends unknown[], Result>(
  ask: (...parameters: Parameters) => Promise<Result>,
): (...parameters: Parameters) => Promise<Result> {
  let isAway = false
  let isProbing = false
  return async (...parameters) => {
    const isProbe = isAway
    if (isProbe && isProbing) throw new Unavailable('auth-server')
    if (isProbe) isProbing = true
    try {
      const result = await ask(...parameters)
      isAway = false
      return result
    } catch (error) {
      isAway = true
      throw error
    } finally {
      if (isProbe) isProbing = false
    }
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Unavailable('auth-server', { cause })
  }
}
