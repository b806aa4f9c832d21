/** What a credential is for the rest of the client. A scheme of your own implements `Credential`. */

/** Which server a request goes to. */
export type ServerName = 'auth' | 'deal'

/** Bytes in a buffer of their own, as WebCrypto and fetch take them. */
export type Bytes = Uint8Array<ArrayBuffer>

/** A request on its way. A credential may change its URL and its header fields. */
export interface OutgoingRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly body: Bytes | undefined
  readonly server: ServerName
}

/** A call of the auth server that gets or ends a credential. */
export interface CredentialCall {
  readonly method: 'POST' | 'DELETE'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as a form, in place of `json`. */
  readonly form?: Readonly<Record<string, string>>
  /** With the cookies of the browser. */
  readonly isCookie?: boolean
  /** How long a call without an answer is sent again, in milliseconds; left out, it is sent once. */
  readonly repeatForMs?: number
}

/** What a credential works with. */
export interface CredentialPorts {
  /** The time as the servers have it, in milliseconds since the Unix epoch. */
  now(): number
  /** Calls the auth server without a credential. @throws KeyholdProblem, KeyholdUnreachable */
  call(call: CredentialCall): Promise<Response>
}

/** A refusal with 400 or 401 that a new credential may help against. */
export interface Refusal {
  readonly code: string
  readonly headers: Headers
  /** The request as it was sent. */
  readonly request: OutgoingRequest
}

/** A credential of one of the schemes. One object may serve any number of requests at once. */
export interface Credential {
  /** True when the browser sends it: then requests carry the cookies of the server. */
  readonly isCookie?: boolean
  /** Adds the credential to a request. It may get one first. */
  authorize(request: OutgoingRequest, ports: CredentialPorts): void | Promise<void>
  /** Gets another credential after a refusal, if it can. True: the request is sent again. */
  renew?(refusal: Refusal, ports: CredentialPorts): boolean | Promise<boolean>
  /** Sees the header fields of each answer. */
  observe?(headers: Headers, request: OutgoingRequest): void
  /** Ends the credential on the server, where that is possible. */
  end?(ports: CredentialPorts): Promise<void>
}

/** Runs work at most once at a time: callers that come while it runs get the same result. */
export class SharedWork<Result> {
  #running: Promise<Result> | undefined

  /** The result of the work that runs, or else of this work. */
  run(work: () => Promise<Result>): Promise<Result> {
    this.#running ??= work().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }
}

/** True for a refusal that another token may help against. */
export const isRenewable = (code: string): boolean => ['token-expired', 'invalid-token', 'login-ended'].includes(code)

/** The token that a request was sent with. */
export const tokenOf = ({ headers }: OutgoingRequest): string | undefined =>
  headers.get('authorization')?.replace(/^\w+ /, '')
