/** Sends requests: with a credential, again after a lost answer, and once more after a refusal that passes. */
import { pause, ServerClock, waitFor } from './core/clock.ts'
import { documentIn, KeyholdProblem, KeyholdUnreachable, retryAfterOf } from './core/problem.ts'
import type {
  Bytes,
  Credential,
  CredentialCall,
  CredentialPorts,
  OutgoingRequest,
  ServerName,
} from './credentials/credential.ts'

/** How a client repeats requests. */
export interface RetryOptions {
  /** How often a request is sent again after a lost answer or a 502, 503 or 504; 4 when left out, 0 for never. */
  readonly retries?: number
  /** The longest wait that `Retry-After` may ask for, in seconds; 30 when left out. Beyond it the refusal is given. */
  readonly longestWait?: number
  /** How long an answer may take, in milliseconds; 30,000 when left out. Then the request counts as lost. */
  readonly timeoutMs?: number
}

/** What the sender works with. */
export interface SenderOptions extends RetryOptions {
  readonly origins: Readonly<Record<ServerName, string>>
  readonly credential?: Credential | undefined
  readonly fetch?: typeof globalThis.fetch
}

/** Sends a request to a server; `isStream`: the body of a success is not read, so it may last. */
export type Send = (server: ServerName, request: Request, isStream?: boolean) => Promise<Response>

/** A request that can be sent several times. */
interface Repeatable {
  readonly server: ServerName
  readonly method: string
  readonly url: string
  readonly headers: Headers
  readonly body: Bytes | undefined
  readonly signal: AbortSignal | undefined
  readonly isStream: boolean
  /** True when it may run twice without doing more than once. */
  readonly isRepeatable: boolean
  readonly credential: Credential | undefined
  readonly isCookie: boolean
  /** Not sent again after this time from now, in milliseconds. */
  readonly repeatForMs?: number
}

/** Routes of the auth server that take a credential of their own, or none. */
const ownCredential =
  /^\/(login|refresh|key-signed-tokens|oauth|\.well-known|healthz|readyz|metrics|openapi\.json|docs|problems)(\/|$)/

/** Routes of the deal server that take a command id. */
const takesCommandId = /^\/(rest\/v\d+\/deals|commands?)(\/|$)/
const hasCommandId = /\/commands\/[^/]+\/?$/
const isSafe = (method: string): boolean => ['GET', 'HEAD', 'OPTIONS'].includes(method)

/** How often a refused request gets another credential, or another time for its signature. */
const maxRenewals = 2
const firstPauseMs = 200
const longestPauseMs = 5_000

/** Browsers send cookies and open dialogs, unless a request says otherwise. Other platforms may not know the member. */
const knowsCookies = 'credentials' in Request.prototype

/** The sender of one client. */
export class Sender {
  readonly #options: SenderOptions
  readonly #clock = new ServerClock()
  readonly #fetch: typeof globalThis.fetch
  readonly #ports: CredentialPorts

  constructor(options: SenderOptions) {
    this.#options = options
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init))
    this.#ports = { now: () => this.#clock.now(), call: (call) => this.#call(call) }
  }

  /** Sends a request, with a command id if it is a command without one. @throws KeyholdUnreachable, KeyholdProblem */
  readonly send: Send = async (server, request, isStream = false) => {
    const { method, signal, url } = request
    const headers = new Headers(request.headers)
    const path = this.#pathOf(server, url)
    const isCommand = server === 'deal' && !isSafe(method) && takesCommandId.test(path)
    const isNamed = isCommand && method === 'PUT' && hasCommandId.test(path)
    if (isCommand && !isNamed && !headers.has('idempotency-key')) headers.set('idempotency-key', crypto.randomUUID())
    const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer())
    const hasOwn = headers.has('authorization') || (server === 'auth' && ownCredential.test(path))
    const isRepeatable = isCommand || isSafe(method) || method === 'PUT' || method === 'DELETE'
    const credential = hasOwn ? undefined : this.#options.credential
    const isCookie = credential?.isCookie ?? false
    const plain = { server, method, url, headers, body, signal, isStream, isRepeatable, credential, isCookie }
    return this.#sendRepeatedly(plain)
  }

  /** Ends the credential. */
  async end(): Promise<void> {
    await this.#options.credential?.end?.(this.#ports)
  }

  async #call({ method, path, headers, json, form, repeatForMs, isCookie = false }: CredentialCall): Promise<Response> {
    const server = 'auth'
    const body = form ? new URLSearchParams(form).toString() : json === undefined ? undefined : JSON.stringify(json)
    const type = form ? 'application/x-www-form-urlencoded' : 'application/json'
    const plain: Repeatable = {
      server,
      method,
      isCookie,
      signal: undefined,
      isStream: false,
      credential: undefined,
      url: this.#options.origins.auth + path,
      headers: new Headers({ ...(body !== undefined && { 'content-type': type }), ...headers }),
      body: body === undefined ? undefined : new TextEncoder().encode(body),
      isRepeatable: repeatForMs !== undefined,
      ...(repeatForMs !== undefined && { repeatForMs }),
    }
    const response = await this.#sendRepeatedly(plain)
    if (!response.ok) throw await KeyholdProblem.of(response)
    return response
  }

  async #sendRepeatedly(plain: Repeatable): Promise<Response> {
    const { retries = 4, longestWait = 30 } = this.#options
    const begun = this.#clock.now()
    for (let attempt = 1; ; attempt += 1) {
      const [answer, failure] = await this.#sendWithCredential(plain).then(
        (response) => [response, undefined] as const,
        (error: unknown) => [undefined, error] as const,
      )
      if (failure !== undefined && !(failure instanceof Lost)) throw failure
      if (answer && !(await isPassing(answer))) return answer
      const wait = (answer && retryAfterOf(answer.headers)) ?? 0
      const pauseMs = wait * 1000 + Math.random() * Math.min(longestPauseMs, firstPauseMs * 2 ** attempt)
      const isTooLate = this.#clock.now() + pauseMs - begun > (plain.repeatForMs ?? Number.POSITIVE_INFINITY)
      if (!plain.isRepeatable || attempt > retries || wait > longestWait || isTooLate) {
        if (answer) return answer
        throw new KeyholdUnreachable(new URL(plain.url).origin, attempt, failure?.cause)
      }
      await pause(pauseMs, plain.signal)
    }
  }

  async #sendWithCredential(plain: Repeatable): Promise<Response> {
    const { credential, signal } = plain
    for (let renewals = 0; ; renewals += 1) {
      const { method, body, server } = plain
      const request = { method, body, server, url: new URL(plain.url), headers: new Headers(plain.headers) }
      if (credential) await waitFor(credential.authorize(request, this.#ports), signal)
      const response = await this.#sendOnce(request, plain)
      credential?.observe?.(response.headers, request)
      if (!credential || renewals === maxRenewals || ![400, 401].includes(response.status)) return response
      if (!(await this.#canPass(response, { credential, request, signal }))) return response
    }
  }

  /** True when the same request may pass now: the clock was set, or there is another credential. */
  async #canPass(
    response: Response,
    {
      credential,
      request,
      signal,
    }: { credential: Credential; request: OutgoingRequest; signal?: AbortSignal | undefined },
  ): Promise<boolean> {
    const { code = '', serverTime } = documentIn(await response.clone().text())
    if (code === 'signature-from-future' || code === 'signature-too-old') {
      const time = typeof serverTime === 'number' ? serverTime * 1000 : Date.parse(response.headers.get('date') ?? '')
      const isOther = Math.abs(time - this.#clock.now()) > 1000
      if (isOther) this.#clock.set(time)
      return isOther
    }
    const refusal = { code: String(code), headers: response.headers, request }
    return waitFor(credential.renew?.(refusal, this.#ports) ?? false, signal)
  }

  /** Sends a request once, and reads its whole answer, so that an answer that breaks off counts as lost. */
  async #sendOnce({ method, url, headers, body }: OutgoingRequest, plain: Repeatable): Promise<Response> {
    const { signal, isStream, isCookie } = plain
    const late = new AbortController()
    const { timeoutMs = 30_000 } = this.#options
    const timer = setTimeout(() => late.abort(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs)
    const init: RequestInit = {
      method,
      headers,
      redirect: 'manual',
      signal: AbortSignal.any([late.signal, ...(signal ? [signal] : [])]),
      ...(body && { body }),
      ...(knowsCookies && { credentials: isCookie ? 'include' : 'omit' }),
    }
    try {
      const response = await this.#fetch(url.href, init)
      if (response.status === 0) throw new TypeError('The server redirects.')
      return isStream && response.ok ? response : await copyOf(response)
    } catch (error) {
      signal?.throwIfAborted()
      throw new Lost(late.signal.reason ?? error)
    } finally {
      clearTimeout(timer)
    }
  }

  #pathOf(server: ServerName, url: string): string {
    const base = new URL(this.#options.origins[server]).pathname.replace(/\/$/, '')
    return new URL(url).pathname.slice(base.length)
  }
}

/** No answer came, or not all of it. */
class Lost {
  readonly cause: unknown
  constructor(cause: unknown) {
    this.cause = cause
  }
}

/** The answer with its body in memory. */
async function copyOf(response: Response): Promise<Response> {
  const { status, headers } = response
  const body = await response.arrayBuffer()
  return new Response([204, 205, 304].includes(status) ? null : body, { status, headers })
}

/** True for an answer that another one may follow soon. */
async function isPassing(response: Response): Promise<boolean> {
  if ([502, 503, 504].includes(response.status)) return true
  if (response.status !== 409 && response.status !== 408) return false
  return ['command-in-progress', 'request-timeout'].includes(String(documentIn(await response.clone().text()).code))
}
