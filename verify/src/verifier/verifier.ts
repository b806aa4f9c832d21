/** What users of the package see. Nothing of the inside is named here. */
import type { IncomingMessage } from 'node:http'

/** The name of an authentication scheme of Keyhold. */
export type SchemeName = 'bearer' | 'key-signed' | 'signed-request' | 'session' | 'basic' | 'digest'

/** The caller of a request. */
export interface Caller {
  /** As the user was created; a credential may spell it with other capitals. */
  readonly username: string
  /** Never changes, and belongs to no other user. */
  readonly userId: string
  /** The scheme of the credential. */
  readonly scheme: SchemeName
  /** The rights of the caller among those of this service: those that the user has and the credential lets through. */
  readonly rights: ReadonlySet<string>
  /** Header fields that the response must carry, such as `authentication-info`. The adapters add them. */
  readonly responseHeaders: readonly (readonly [name: string, value: string])[]
  /** True for a right of the caller. */
  has(right: string): boolean
  /** Demands rights. @throws Refusal `missing-right` (403) that names all that are missing */
  require(...rights: readonly string[]): void
}

/** Where a request came from, which a `Request` does not say. */
export interface Origin {
  /** The address of the other end of the connection: `socket.remoteAddress` in Node.js. */
  readonly clientAddress: string
  /**
   * True for a connection over TLS: `socket.encrypted` in Node.js. Left out, it is not, whatever the URL says: a
   * client may write `https:` into its request line.
   */
  readonly encrypted?: boolean
}

/** A log in the manner of pino: an object with details, and a message. */
export interface VerifierLog {
  debug(details: object, message: string): void
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

/** Checks the credentials of callers for one service. */
export interface Verifier {
  /**
   * Resolves when requests can be verified: the auth server has accepted the service, and its keys are here. Until
   * then, requests are refused with 503. A service need not wait for it.
   * @throws Error when the audience is not the one of the service, and after `stop`
   */
  ready(): Promise<void>
  /**
   * The caller of a request. The body stays unread for others.
   * @throws Refusal 401 and 403 for a credential that is missing or not accepted, 503 when that cannot be known
   */
  verify(request: Request, origin: Origin): Promise<Caller>
  /**
   * The same for a message of `node:http`. `target` is the path and query of its request line, where a framework has
   * rewritten `url`. @throws Refusal
   */
  verifyMessage(message: IncomingMessage, target?: string): Promise<Caller>
  /** Ends all connections to the auth server. */
  stop(): Promise<void>
}

/** The settings of a verifier. */
export interface VerifierOptions {
  /** The URL of the auth server: `https:`, or `http:` on this machine. */
  readonly authServer: string
  /** The credential of the service, from `POST /services`. */
  readonly service: { readonly id: string; readonly secret: string }
  /** The audience of the tokens of this service: the one of its resource server. */
  readonly audience: string
  /**
   * The origin under which clients see this service, such as `https://invoices.example`. It is needed for signatures
   * that cover the host, and for pages that send a cookie, Basic or Digest.
   */
  readonly origin?: string
  /** Further origins whose pages may send a cookie, Basic or Digest with requests that change something. */
  readonly trustedOrigins?: readonly string[]
  /** The proxies in front of this service: their number, or their addresses and CIDRs, separated by commas. */
  readonly trustedProxies?: string
  /** Accepts credentials over plain HTTP, and an auth server elsewhere that has no HTTPS: for closed networks alone. */
  readonly allowInsecureHttp?: boolean
  /**
   * Accepts key-signed tokens without a name, for requests with a safe method. Their caller is `anonymous`, with its
   * rights. Such a token goes on when the user who made it is disabled.
   */
  readonly allowAnonymous?: boolean
  /** Seconds that a user's record is used while the auth server cannot be reached; 300 when left out. */
  readonly recordMaxAgeSeconds?: number
  /** The largest body that is read to compare it with a signed digest, in bytes; 1 MiB when left out. */
  readonly maxBodyBytes?: number
  /** Where the verifier tells of the auth server; warnings and errors go to standard error when left out. */
  readonly log?: VerifierLog
}
