/** ID tokens (OpenID Connect Core §2): what a client learns of the person who has signed in. */
import { createHash } from 'node:crypto'
import { errors, jwtVerify } from 'jose'
import * as z from 'zod'
import type { Clock } from '../../shared/platform/clock.ts'
import { accessTokenAlgOf, loginMethods } from '../../shared/protocol/access-token/access-token.ts'
import type { VerificationKeys } from '../../shared/protocol/access-token/verify-access-token.ts'
import type { LoginProof, SigningKeys } from './access-tokens.ts'
import { signJwt } from './sign-jwt.ts'

/** The scopes of OpenID Connect that there are. They stand in no access token: its `scope` names rights alone. */
export const openIdScopes = ['openid', 'profile', 'email', 'roles', 'offline_access'] as const

/** A person as claims tell of it. */
export interface Person {
  /** `sub`: it is never given to another user. */
  readonly userId: string
  readonly username: string
  readonly displayName: string | null
  readonly email: string | null
  readonly emailVerified: boolean
  /** Seconds since the epoch. */
  readonly updatedAt: number
  readonly roles: readonly string[]
}

/** The login of a client. */
export interface ClientLogin {
  readonly clientId: string
  /** The name of the client; null for one that is built in. */
  readonly name: string | null
  /** The rights of its tokens, of those that the user has; null: all of them. */
  readonly rights: readonly string[] | null
  readonly scopes: readonly string[]
  /** The session that the user signed in by; null: a device. */
  readonly sessionId: string | null
  readonly person: Person
}

/** The values of a new ID token. */
export interface IdTokenSubject {
  readonly login: ClientLogin & { readonly loginId: string }
  readonly proof: LoginProof
  /** Absent in the answer to a refresh. */
  readonly nonce: string | undefined
  readonly accessToken: string
  /** Seconds since the epoch, as of the access token: the key that signs both is published as long as one lives. */
  readonly issuedAt: number
  readonly expiresAt: number
}

/** Issues one ID token. */
export type IssueIdToken = (subject: IdTokenSubject) => Promise<string>

/** What an ID token that was issued here says. */
export interface ReadIdToken {
  readonly subject: string
  readonly clientId: string
}

/** Reads a token that was issued here and is signed by a published key, also when it has expired. */
export type ReadIdTokenHint = (token: string) => Promise<ReadIdToken | undefined>

/** The claims of a person by scope (OpenID Connect Core §5.4; `roles` is an addition). */
export const claimsOf = (person: Person, scopes: readonly string[]): Record<string, unknown> => ({
  sub: person.userId,
  ...(scopes.includes('profile') && {
    preferred_username: person.username,
    name: person.displayName ?? undefined,
    updated_at: person.updatedAt,
  }),
  ...(scopes.includes('email') &&
    person.email !== null && { email: person.email, email_verified: person.emailVerified }),
  ...(scopes.includes('roles') && { roles: person.roles }),
})

/** `sid`: the same for a browser and a client, and of no use to another client. Of a device it is the login. */
const sidOf = ({ sessionId, clientId, loginId }: IdTokenSubject['login']): string =>
  sessionId === null
    ? loginId
    : createHash('sha256').update(`${sessionId} ${clientId}`).digest().subarray(0, 16).toString('base64url')

/** `at_hash` (OpenID Connect Core §3.1.3.6). */
function hashOf(accessToken: string, alg: string): string {
  const digest = createHash(alg === 'EdDSA' ? 'sha512' : 'sha256')
    .update(accessToken)
    .digest()
  return digest.subarray(0, digest.length / 2).toString('base64url')
}

/** Creates the issuer. */
export const createIdTokenIssuer =
  ({ keys, issuer }: { readonly keys: SigningKeys; readonly issuer: string }): IssueIdToken =>
  ({ login, proof, nonce, accessToken, issuedAt, expiresAt }) => {
    const key = keys.signingKey('jwt')
    const claims = {
      ...claimsOf(login.person, login.scopes),
      iss: issuer,
      aud: login.clientId,
      iat: issuedAt,
      exp: expiresAt,
      auth_time: proof.at,
      nonce,
      at_hash: hashOf(accessToken, key.alg),
      amr: loginMethods(proof.factor),
      acr: proof.factor === null ? 'pwd' : 'mfa',
      sid: sidOf(login),
    }
    return signJwt(claims, 'JWT', key)
  }

const hintSchema = z.object({ sub: z.string(), aud: z.string() })
const maxHintLength = 8192

/** Creates the reader of tokens that clients send back. */
export const createIdTokenReader =
  ({ keys, issuer, clock }: { readonly keys: VerificationKeys; readonly issuer: string; readonly clock: Clock }) =>
  async (token: string): Promise<ReadIdToken | undefined> => {
    if (token.length > maxHintLength) return undefined
    const keyOf = ({ kid = '', alg }: { kid?: string; alg?: string }) => {
      const key = keys.key(kid)
      if (!key || accessTokenAlgOf(key) !== alg) throw new errors.JWKSNoMatchingKey()
      return key
    }
    try {
      const expected = { issuer, typ: 'JWT', currentDate: new Date(clock.now()) }
      const payload = await jwtVerify(token, keyOf, expected).then(
        (verified) => verified.payload,
        (error: unknown) => {
          if (error instanceof errors.JWTExpired) return error.payload
          throw error
        },
      )
      const { data } = hintSchema.safeParse(payload)
      return data && { subject: data.sub, clientId: data.aud }
    } catch {
      return undefined
    }
  }
