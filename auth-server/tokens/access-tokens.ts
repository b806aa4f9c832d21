/**
 * Issues access tokens (docs/contract.md#access-token). What is in one, and how it is verified, both servers share: `shared/protocol/`.
 */
import type { KeyObject } from 'node:crypto'
import { SignJWT } from 'jose'
import type { IdSource } from '../../shared/platform/ids.ts'
import { accessTokenAlg, accessTokenTyp } from '../../shared/protocol/access-token/access-token.ts'

/** The private key that signs now. */
export interface SigningKeys {
  /** @throws Error when the key ring has no active key for this use, which loading it rules out */
  signingKey(use: 'jwt'): { readonly kid: string; readonly privateKey: KeyObject }
}

/** Whom a token speaks for. */
export interface AccessTokenSubject {
  /** User name, as created. */
  readonly username: string
  /** The login or API key it belongs to and ends with. */
  readonly loginId: string
  /** The credential generation it is made under. */
  readonly generation: number
  readonly clientId: string
  /** All that it may do of what its user may; undefined: everything. */
  readonly rights?: readonly string[] | undefined
  /** Seconds since the epoch. */
  readonly issuedAt: number
  /** Seconds since the epoch. Whoever ends the login has stored it, so it is not computed here. */
  readonly expiresAt: number
}

/** What issuing needs. */
export interface AccessTokenIssuerPorts {
  readonly keys: SigningKeys
  readonly ids: IdSource
  readonly issuer: string
  readonly audience: string
}

/** Issues one access token. */
export type IssueAccessToken = (subject: AccessTokenSubject) => Promise<string>

/** An issuer of access tokens. */
export function createAccessTokenIssuer(ports: AccessTokenIssuerPorts): IssueAccessToken {
  return (subject) => {
    const { kid, privateKey } = ports.keys.signingKey('jwt')
    const { rights } = subject
    const scope = rights === undefined ? {} : { scope: rights.join(' ') }
    const claims = { client_id: subject.clientId, sid: subject.loginId, gen: subject.generation, ...scope }
    return new SignJWT(claims)
      .setProtectedHeader({ alg: accessTokenAlg, typ: accessTokenTyp, kid })
      .setIssuer(ports.issuer)
      .setSubject(subject.username)
      .setAudience(ports.audience)
      .setIssuedAt(subject.issuedAt)
      .setExpirationTime(subject.expiresAt)
      .setJti(ports.ids.uuid())
      .sign(privateKey)
  }
}
