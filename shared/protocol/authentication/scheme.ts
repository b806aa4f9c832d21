/**
 * The interface of an authentication scheme: how its credential is found in a request, how it is verified against
 * narrow ports, and its challenge. Each scheme has a folder; both servers use the same schemes. The principal record
 * decides afterwards (`authenticate.ts`).
 */

import type { HttpRequest } from '../../platform/http/request.ts'
import type { HttpResponse } from '../../platform/http/response.ts'
import type { NamedAudience } from './audience.ts'

/** The names in AUTH_SCHEMES and in the member `schemes` of a 401. */
export const schemeNames = ['bearer', 'key-signed', 'signed-request', 'session', 'basic', 'digest'] as const

/** The name of a scheme. */
export type SchemeName = (typeof schemeNames)[number]

/** The signature of an unsafe signed request. It works once. */
export interface RequestSignature {
  /** SHA-256 (base64url) of its octets. */
  readonly digest: string
  /** True when it was used before: then it is good only for the stored response of the command that it was used for. */
  readonly isReused: boolean
  /** The time of the earlier use, in milliseconds; undefined when there was none. */
  readonly usedAt: number | undefined
}

/** The facts that a valid credential proves. */
export interface VerifiedCredential {
  readonly username: string
  /** The credential generation when it was made; undefined for a scheme without one. */
  readonly generation: number | undefined
  /**
   * The public id of its login, session or API key. The credential is refused when the principal record lists this id
   * as revoked.
   */
  readonly loginId: string | undefined
  /**
   * The audience that it is for. Undefined for a scheme whose credentials are good at every service: a password, a
   * Digest secret or an API key proves its user again with each request.
   */
  readonly audience: NamedAudience | undefined
  /** Its own id, if it can be revoked alone. The record may list this id, too. */
  readonly tokenId?: string | undefined
  /** The client that it was issued to, where it tells that. */
  readonly clientId?: string | undefined
  /** The name of that client, where it tells that. */
  readonly clientName?: string | undefined
  /** Its expiry, in milliseconds since the epoch; undefined for a credential without one. */
  readonly expiresAt: number | undefined
  /** The rights that it is narrowed to; undefined: all rights of its user. */
  readonly rights?: readonly string[] | undefined
  /** How the user of its login was authenticated (RFC 8176), where the credential itself tells it. */
  readonly amr?: readonly string[] | undefined
  /** True for the token of a service behind a proxy: that service has it, so it proves nothing about the user. */
  readonly isForwarded?: boolean | undefined
  /** True when the request also carried the user's password. */
  readonly carriesPassword?: boolean | undefined
  readonly signature?: RequestSignature | undefined
  /**
   * Checks the credential again during a long response. Rejects with ProblemError when it is no longer valid for a
   * reason that the principal record does not show, such as a new password or a revoked key. Undefined where the record
   * and `expiresAt` show everything.
   */
  readonly recheck?: (() => Promise<void>) | undefined
}

/** Header fields of a response. */
export type ResponseHeaders = HttpResponse['headers']

/** In the `Authorization` field (RFC 9110 §11.6.2), under this name of the scheme, in lower case. */
export interface InAuthorization {
  readonly authorization: string
}

/** In another place. */
export interface Elsewhere {
  /**
   * The unverified credential; undefined when the request has none of this scheme. @throws ProblemError for one that is
   * not well-formed
   */
  find(request: HttpRequest): string | undefined
}

/** An authentication scheme. */
export interface Scheme {
  readonly name: SchemeName
  /** True when browsers send the credential on their own: then the cross-site rule applies. */
  readonly isSentByBrowsers: boolean
  /** The place of the credential in a request. */
  readonly place: InAuthorization | Elsewhere
  /** Verifies a credential. @throws ProblemError with `refusalHeaders` for one that is not valid; Unavailable */
  verify(credential: string, request: HttpRequest): Promise<VerifiedCredential> | VerifiedCredential
  /** The challenge for a request without a credential (RFC 9110 §11.6.1); undefined where the scheme has none. */
  challenge(request: HttpRequest): string | undefined
  /**
   * The header fields of a 401 for a credential of this scheme: its challenge, and fields that make a browser forget
   * it.
   */
  refusalHeaders(request: HttpRequest): ResponseHeaders
  /**
   * True when a refusal of several credentials must make a browser forget this one, if it is not valid, by
   * `refusalHeaders`.
   */
  readonly isForgottenAmongSeveral?: boolean
}

/** The realm of all challenges of both servers. */
export const realm = 'keyhold'

/**
 * Splits an `Authorization` field (RFC 9110 §11.4). The name of the scheme is case-insensitive and given in lower case.
 */
export function readAuthorization(field: string): { readonly scheme: string; readonly credential: string } {
  const blank = field.indexOf(' ')
  if (blank < 0) return { scheme: field.toLowerCase(), credential: '' }
  return { scheme: field.slice(0, blank).toLowerCase(), credential: field.slice(blank + 1).trim() }
}

/**
 * The credential of an `Authorization` field of this scheme (in lower case); undefined when the field is absent or of
 * another scheme.
 */
export function authorizationOf(request: HttpRequest, scheme: string): string | undefined {
  const field = request.header('authorization')
  const read = field === undefined ? undefined : readAuthorization(field)
  return read?.scheme === scheme ? read.credential : undefined
}

/** True for methods that change nothing (RFC 9110 §9.2.1). */
export const isSafeMethod = (method: string): boolean => method === 'GET' || method === 'HEAD' || method === 'OPTIONS'

/**
 * True for a request that changes nothing. A handshake of WebSocket is a GET, but it opens a connection over which
 * anything can be asked, and a browser lets pages of every site begin one. Proxies that remove `Upgrade` leave the
 * other fields of the handshake (RFC 6455 §4.1).
 */
export const isSafeRequest = (request: HttpRequest): boolean =>
  isSafeMethod(request.method) && upgradeFields.every((name) => request.header(name) === undefined)

const upgradeFields = ['upgrade', 'sec-websocket-key', 'sec-websocket-version']

/**
 * True when a script in a browser made the request (Fetch Metadata). A challenge for which browsers open a dialog would
 * disturb its user.
 */
export function isOfScript(request: HttpRequest): boolean {
  const mode = request.header('sec-fetch-mode')
  return mode !== undefined && mode !== 'navigate'
}
