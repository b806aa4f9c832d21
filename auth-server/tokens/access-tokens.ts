/**
 * Issues access tokens (docs/contract/callers.md#access-token). `shared/protocol/access-token/` has their claims and
 * their verification.
 */
import type { IdSource } from '../../shared/platform/ids.ts'
import { accessTokenTyp, loginMethods } from '../../shared/protocol/access-token/access-token.ts'
import { type SigningKey, signJwt } from './sign-jwt.ts'

/** The source of the private key that signs now. */
export interface SigningKeys {
  /** The active key. @throws Error without one, which cannot happen with a loaded key ring */
  signingKey(use: 'jwt'): SigningKey
}

/** The proof that a login began with. */
export interface LoginProof {
  /** When it began, in seconds since the epoch. */
  readonly at: number
  /** The RFC 8176 value of the second factor; null: it has none. */
  readonly factor: string | null
}

/** The values of a new access token. */
export interface AccessTokenSubject {
  /** The user name as created. */
  readonly username: string
  /** The login or API key of the token. Its revocation revokes the token. */
  readonly loginId: string
  /** The credential generation at the time of issue. */
  readonly generation: number
  readonly clientId: string
  /** The name of an application; undefined for other clients. */
  readonly clientName?: string | undefined
  /** The audience; null: that of the pair. */
  readonly audience: string | null
  /** `jti`. The token has that of a credential that it is made of, so that it is revoked with it; else a new one. */
  readonly tokenId?: string | undefined
  /** When and how the user of a login was authenticated; undefined for an API key. */
  readonly proof?: LoginProof | undefined
  /** The rights of the token, of those that its user has; undefined: all of them. */
  readonly rights?: readonly string[] | undefined
  /** Seconds since the epoch. */
  readonly issuedAt: number
  /** Seconds since the epoch. The login or API key stores this time for its revocation, so it is not computed here. */
  readonly expiresAt: number
}

/** The systems and settings of the issuer. */
export interface AccessTokenIssuerPorts {
  readonly keys: SigningKeys
  readonly ids: IdSource
  readonly issuer: string
  /** The audience of the pair (AUDIENCE). */
  readonly audience: string
}

/** Issues one access token. */
export type IssueAccessToken = (subject: AccessTokenSubject) => Promise<string>

/** Creates the issuer of access tokens. */
export function createAccessTokenIssuer(ports: AccessTokenIssuerPorts): IssueAccessToken {
  return function issueAccessToken(subject) {
    const { rights, proof } = subject
    const claims = {
      client_id: subject.clientId,
      client_name: subject.clientName,
      sid: subject.loginId,
      gen: subject.generation,
      // JSON has no member whose value is undefined.
      scope: rights?.join(' '),
      auth_time: proof?.at,
      amr: proof && loginMethods(proof.factor),
      iss: ports.issuer,
      sub: subject.username,
      aud: subject.audience ?? ports.audience,
      iat: subject.issuedAt,
      exp: subject.expiresAt,
      jti: subject.tokenId ?? ports.ids.uuid(),
    }
    return signJwt(claims, accessTokenTyp, ports.keys.signingKey('jwt'))
  }
}
