/**
 * What an authentication scheme is to the servers: how its credential is found in a request, how it is verified against narrow ports,
 * and how its challenge reads. One file per scheme; both servers mount the same ones. Which principal record then decides is no
 * scheme's business (`authenticate.ts`).
 */
import type { HttpCall } from '../http/call.ts'

/** As in AUTH_SCHEMES and in the member `schemes` of a 401. */
export const schemeNames = ['bearer', 'key-signed', 'signed-request', 'session', 'basic', 'digest'] as const

/** One of the six. */
export type SchemeName = (typeof schemeNames)[number]

/** What a valid credential proves. */
export interface VerifiedCredential {
  readonly username: string
  /** The credential generation it was made under; undefined where the scheme has none. */
  readonly generation: number | undefined
  /** The login or session it belongs to, by public id. */
  readonly loginId: string | undefined
  /** When it ends by itself, in milliseconds since the epoch. */
  readonly expiresAt: number | undefined
}

export interface Scheme {
  readonly name: SchemeName
  /** The scheme's credential, unverified; undefined when the request carries none of it. */
  find(call: HttpCall): string | undefined
  /** @throws Refused for a credential that is not valid, with `challengeFor` of the failure */
  verify(credential: string, call: HttpCall): Promise<VerifiedCredential> | VerifiedCredential
  /** The scheme's challenge for a request without a credential (RFC 9110 §11.6.1); undefined where it has none. */
  readonly challenge: string | undefined
}

/** Every server challenges for one realm. */
export const realm = 'keyhold'

/**
 * The credential of an `Authorization` field of this scheme (RFC 9110 §11.4; the scheme's name is case-insensitive); undefined when
 * the field is absent or of another scheme.
 */
export function authorizationOf(call: HttpCall, schemeName: string): string | undefined {
  const value = call.header('authorization')
  if (value === undefined || value.length <= schemeName.length) return undefined
  if (value.charCodeAt(schemeName.length) !== 32) return undefined
  if (value.slice(0, schemeName.length).toLowerCase() !== schemeName) return undefined
  return value.slice(schemeName.length + 1).trim()
}
