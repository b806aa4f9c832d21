/**
 * The client of the auth server: its public documents, and all routes at `/internal`. Every request has a deadline, and
 * a shorter one while the auth server is frozen.
 */
import { createHedge } from '../../../shared/platform/concurrency/hedge.ts'
import { frozenAfterMs } from '../../../shared/platform/concurrency/liveness.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { type Traced, traceparent } from '../../../shared/platform/trace-context.ts'
import { catalogueExchange } from '../../../shared/protocol/internal-api/catalogue.ts'
import { questionOf } from '../../../shared/protocol/internal-api/exchange.ts'
import { feedExchange } from '../../../shared/protocol/internal-api/feed.ts'
import { type FeedLine, feedStreamExchange } from '../../../shared/protocol/internal-api/feed-stream.ts'
import { principalExchange } from '../../../shared/protocol/internal-api/principal.ts'
import { signInternalRequest } from '../../../shared/protocol/internal-api/requests.ts'
import { instanceHeader, keySetHeader } from '../../../shared/protocol/internal-api/responses.ts'
import type { Catalogue } from '../../../shared/protocol/principal/catalogue.ts'
import { instanceIdSchema } from '../../../shared/protocol/principal/instance-id.ts'
import type { InstancePrincipal, InstanceRecord } from '../../../shared/protocol/principal/record.ts'
import { CannotSay } from './cannot-say.ts'
import { readFeedLines, requireProved } from './feed-lines.ts'
import { refuseWhileFrozen } from './refuse-while-frozen.ts'
import type { ServiceSystems } from './service-systems.ts'

/** Sends requests to the auth server. */
export type AuthClient = ReturnType<typeof createAuthClient>

/** A request to a route at `/internal`. */
export interface InternalQuestion {
  readonly method: 'GET' | 'POST'
  /** Path and query after `/internal`, with encoded variable parts. */
  readonly target: string
  readonly body?: unknown
  /** The trace context of the client's request, if there is one. */
  readonly traceContext?: Traced | undefined
  /** The deadline of the response, in milliseconds; 3 000 when left out. */
  readonly deadlineMs?: number
}

/** A response of the auth server. Secrets in it are encrypted (`shared/platform/crypto/internal-sealing.ts`). */
export interface InternalResponse {
  readonly status: number
  /** Undefined without a body. */
  readonly body: unknown
  readonly headers: Headers
}

/** The auth server, and what the client says to those that follow it. */
export interface AuthClientOptions {
  /** The URL of the auth server (AUTH_URL), without a slash at the end. */
  readonly authUrl: string
  /** Called with the published keys in every response (`shared/protocol/internal-api/published-keys.ts`). */
  readonly onPublishedKeys?: (keys: string) => void
  /** The instance that is followed now. */
  readonly followed?: () => string | undefined
  /**
   * Called with the instance that a response is true of, and the one that was followed when its request was made: what
   * the response says is of no use while another one is followed.
   */
  readonly onInstance?: (instanceId: string, before: string | undefined) => void
}

/** A service that follows an auth server, with its client. */
export interface FollowingSystems extends ServiceSystems {
  readonly authClient: AuthClient
}

/** The deadline of a response of an auth server that is not frozen, in milliseconds. */
const usualDeadlineMs = 3_000

/** A read goes out again after a time in which an auth server that is not frozen answers nearly always. */
const hedging = { afterMs: 200, maxAttempts: 5, maxFurther: 10 }

interface AuthRequest {
  /** Path and query. */
  readonly target: string
  readonly method: string
  readonly headers: Headers
  readonly body?: string
  readonly deadlineMs?: number | undefined
  /** Ends the request when another one was answered. */
  readonly signal?: AbortSignal | undefined
}

/** A document that is quick to load: probes request it. */
const lightDocument = '/.well-known/jwks.json'

const feedQuestion = questionOf(feedExchange, { path: {}, body: undefined })

/** Makes a client of the auth server at AUTH_URL. */
export function createAuthClient(systems: ServiceSystems, options: AuthClientOptions) {
  const { serviceSecret: secret, onRefused } = systems
  const { authUrl } = options
  const send = createSend(authUrl, systems)
  const requestOf = signRequests(systems)
  const hedge = createHedge(hedging)
  // Caches may be in front of the documents: that they do not come says nothing of whether questions are answered.
  const questions = refuseWhileFrozen(send, () => light(requestOf(feedQuestion)))
  const documents = refuseWhileFrozen(send, () => light(documentRequest(lightDocument)))
  const askOnce = async (question: InternalQuestion, signal?: AbortSignal): Promise<InternalResponse> => {
    const asked = requestOf(question)
    const before = options.followed?.()
    const answer = await questions.ask({ ...asked, signal })
    requireProved(answer, { secret, nonce: asked.nonce, onRefused })
    const { status, headers, text } = answer
    handOn(headers, before, options)
    return { status, headers, body: text === '' ? undefined : parseJson(text) }
  }
  /**
   * Sends a request to a route at `/internal`, with a JSON body.
   * @throws Unavailable without a response, for a response that is not JSON, and for a response without the MAC that
   *   proves that the auth server made it for this request (`shared/protocol/internal-api/internal-answers.ts`);
   *   CannotSay when an auth server says that something does not answer
   */
  const ask = (question: InternalQuestion): Promise<InternalResponse> =>
    question.method === 'GET' ? hedge((signal) => askOnce(question, signal)) : askOnce(question)
  return {
    ask,
    /** Stops all requests. */
    stop: (): void => {
      for (const part of [questions, documents]) part.stop()
    },
    /** The current record in the database, and the id of the instance. @throws CannotSay, Unavailable */
    principal: async (username: string, traceContext?: Traced): Promise<InstancePrincipal> => {
      const question = questionOf(principalExchange, { path: { username }, body: undefined })
      const { status, headers, body } = await ask({ ...question, traceContext })
      const instance = instanceIdSchema.safeParse(headers.get(instanceHeader))
      const record = status === 200 ? principalExchange.responseBody.safeParse(body).data : undefined
      if (instance.success && (record || status === 404)) return { instanceId: instance.data, record }
      throw new CannotSay(`/internal/principals answered ${status}`)
    },
    /** The catalogue in the database, and the id of the instance. @throws CannotSay, Unavailable */
    catalogue: async (traceContext?: Traced): Promise<InstanceRecord<Catalogue>> => {
      const question = questionOf(catalogueExchange, { path: {}, body: undefined })
      const { status, headers, body } = await ask({ ...question, traceContext })
      const instance = instanceIdSchema.safeParse(headers.get(instanceHeader))
      const record = status === 200 ? catalogueExchange.responseBody.safeParse(body).data : undefined
      if (instance.success && record) return { instanceId: instance.data, record }
      throw new CannotSay(`/internal/catalogue answered ${status}`)
    },
    /** The id of the instance, whose feed and cache the deal server follows. @throws Unavailable */
    instanceId: async (): Promise<string> => {
      const { status, body } = await ask(feedQuestion)
      const answer = status === 200 ? feedExchange.responseBody.safeParse(body) : undefined
      if (answer?.success) return answer.data.instanceId
      throw new Unavailable('auth-server', { cause: new Error(`/internal/feed answered ${status}`) })
    },
    /**
     * The lines of the change feed after `after` of `instance`, until the auth server or `signal` ends them.
     * @throws Unavailable without a response that an auth server proved, and for a line that none wrote for this
     *   request
     */
    feedLines: (
      { instance, after }: { instance: string; after: number | undefined },
      signal: AbortSignal,
    ): AsyncIterable<FeedLine> => {
      const query = { instance, ...(after === undefined ? {} : { after: String(after) }) }
      const asked = requestOf(questionOf(feedStreamExchange, { path: {}, query, body: undefined }))
      const before = options.followed?.()
      const onHead = (headers: Headers) => handOn(headers, before, options)
      const { target, method, headers } = asked
      const open = () => systems.fetch(authUrl + target, { method, headers, signal, redirect: 'error' })
      return readFeedLines(open, { secret, nonce: asked.nonce, onHead, onRefused })
    },
    /** A public document such as `/.well-known/jwks.json`, parsed, not checked. @throws Unavailable unless it is 200 */
    document: async (path: string): Promise<unknown> => {
      const { status, text } = await hedge((signal) => documents.ask({ ...documentRequest(path), signal }))
      if (status === 200) return parseJson(text)
      throw new Unavailable('auth-server', { cause: new Error(`${path} answered ${status}`) })
    },
  }
}

/** Signs questions. */
function signRequests({ serviceId: id, serviceSecret: secret, clock, ids }: ServiceSystems) {
  return ({
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
      authorization: signInternalRequest({ method, target, body }, { id, secret, clock, nonce }),
      ...(value === undefined ? {} : { 'content-type': 'application/json' }),
    })
    return { target, method, headers, deadlineMs, ...(value === undefined ? {} : { body }), nonce }
  }
}

/** What every response says besides its answer. `before` was followed when its request was made. */
function handOn(
  headers: Headers,
  before: string | undefined,
  { onPublishedKeys, onInstance }: AuthClientOptions,
): void {
  const keys = headers.get(keySetHeader)
  if (keys !== null) onPublishedKeys?.(keys)
  const instance = instanceIdSchema.safeParse(headers.get(instanceHeader))
  if (instance.success) onInstance?.(instance.data, before)
}

/** @throws Unavailable without a response before the deadline or the abort */
function createSend(authUrl: string, { fetch }: ServiceSystems) {
  return async function askAuthServer(
    { target, deadlineMs = usualDeadlineMs, signal, ...init }: AuthRequest,
    abort: AbortController,
  ) {
    const deadline = setTimeout(() => abort.abort(new Error(`no answer in ${deadlineMs} ms`)), deadlineMs)
    try {
      const ends = signal ? AbortSignal.any([abort.signal, signal]) : abort.signal
      const response = await fetch(authUrl + target, { ...init, signal: ends, redirect: 'error' })
      return { status: response.status, headers: response.headers, text: await response.text() }
    } catch (cause) {
      throw new Unavailable('auth-server', { cause })
    } finally {
      clearTimeout(deadline)
    }
  }
}

/** The request for a document. `no-cache` because caches on the way may have an old one (RFC 9111 §5.2.1.4). */
function documentRequest(target: string): AuthRequest {
  return { target, method: 'GET', headers: new Headers({ 'cache-control': 'no-cache' }) }
}

const light = (request: AuthRequest): AuthRequest => ({ ...request, deadlineMs: frozenAfterMs })

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Unavailable('auth-server', { cause })
  }
}
