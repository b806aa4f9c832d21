/**
 * What an authentication scheme is to the servers: how its credential is found in a request, how it is verified against narrow ports,
 * and how its challenge reads. One file per scheme; both servers mount the same ones. Which principal record then decides is no
 * scheme's business (`authenticate.ts`).
 */
import type { Answer } from '../../platform/http/answer.ts'
import type { HttpCall } from '../../platform/http/call.ts'

/** As in AUTH_SCHEMES and in the member `schemes` of a 401. */
export const schemeNames = ['bearer', 'key-signed', 'signed-request', 'session', 'basic', 'digest'] as const

/** One of the six. */
export type SchemeName = (typeof schemeNames)[number]

/** The signature of an unsafe signed request: it works once. */
export interface RequestSignature {
  /** SHA-256 (base64url) of its octets. */
  readonly digest: string
  /** It was used before: good for nothing but the stored answer of the very command it was used for. */
  readonly isReused: boolean
  /** When, in milliseconds; undefined unless it was. */
  readonly usedAt: number | undefined
}

/** What a valid credential proves. */
export interface VerifiedCredential {
  readonly username: string
  /** The credential generation it was made under; undefined where the scheme has none. */
  readonly generation: number | undefined
  /** The login, session or API key it belongs to, by public id: dead when the principal record says that this id has ended. */
  readonly loginId: string | undefined
  /** Its own id, where it may end alone: dead likewise. */
  readonly tokenId?: string | undefined
  /** When it ends by itself, in milliseconds since the epoch. */
  readonly expiresAt: number | undefined
  /** All that it may do of what its user may; undefined: everything. */
  readonly rights?: readonly string[] | undefined
  /** True when the request carried the user's password with it. */
  readonly carriesPassword?: boolean | undefined
  readonly signature?: RequestSignature | undefined
  /**
   * Asked from time to time while an answer goes on: rejects with Refused once the credential is no longer good for a reason that the
   * principal record does not tell (a new password, a revoked key). Undefined where the record and `expiresAt` tell everything.
   */
  readonly recheck?: (() => Promise<void>) | undefined
}

/** Header fields of an answer. */
export type AnswerHeaders = Answer['headers']

/** In the `Authorization` field (RFC 9110 §11.6.2), by this name of the scheme, in lower case. */
export interface InAuthorization {
  readonly authorization: string
}

/** Anywhere else. */
export interface Elsewhere {
  /** The scheme's credential, unverified; undefined when the request carries none of it. @throws Refused for one of no possible form */
  find(call: HttpCall): string | undefined
}

export interface Scheme {
  readonly name: SchemeName
  /** Sent by browsers on their own: the cross-site rule applies to it. */
  readonly isSentByBrowsers: boolean
  /** Where a request carries its credential. */
  readonly place: InAuthorization | Elsewhere
  /** @throws Refused for a credential that is not valid, with `refusalHeaders`; Unavailable */
  verify(credential: string, call: HttpCall): Promise<VerifiedCredential> | VerifiedCredential
  /** The challenge for a request without a credential (RFC 9110 §11.6.1); undefined where the scheme has none. */
  challenge(call: HttpCall): string | undefined
  /** The header fields of a 401 about a credential of this scheme: its challenge, and what makes a browser forget it. */
  refusalHeaders(call: HttpCall): AnswerHeaders
  /** True when a browser must be told to forget a dead one of several credentials, as with `refusalHeaders`. */
  readonly isForgottenAmongSeveral?: boolean
}

/** Every server challenges for one realm. */
export const realm = 'keyhold'

/** The name of the scheme in an `Authorization` field, which is case-insensitive, in lower case, and what follows (RFC 9110 §11.4). */
export function readAuthorization(field: string): { readonly scheme: string; readonly credential: string } {
  const blank = field.indexOf(' ')
  if (blank < 0) return { scheme: field.toLowerCase(), credential: '' }
  return { scheme: field.slice(0, blank).toLowerCase(), credential: field.slice(blank + 1).trim() }
}

/** The credential of an `Authorization` field of this scheme, given in lower case; undefined when the field is absent or of another one. */
export function authorizationOf(call: HttpCall, scheme: string): string | undefined {
  const field = call.header('authorization')
  const read = field === undefined ? undefined : readAuthorization(field)
  return read?.scheme === scheme ? read.credential : undefined
}

/** Methods that change nothing (RFC 9110 §9.2.1). */
export const isSafeMethod = (method: string): boolean => method === 'GET' || method === 'HEAD' || method === 'OPTIONS'

/** A script in a browser made the request (Fetch Metadata): a challenge that browsers answer with a dialog would disturb its user. */
export function isOfScript(call: HttpCall): boolean {
  const mode = call.header('sec-fetch-mode')
  return mode !== undefined && mode !== 'navigate'
}
