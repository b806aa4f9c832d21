/** The scheme `bearer`: access tokens (RFC 6750; the token itself: RFC 9068). */
import { ProblemError } from '../../../platform/problems/errors.ts'
import { proxyClientId } from '../../access-token/access-token.ts'
import type { AccessTokenVerdict, VerifyAccessToken } from '../../access-token/verify-access-token.ts'
import { type ResponseHeaders, realm, type Scheme, type VerifiedCredential } from '../scheme.ts'

interface BearerPorts {
  readonly verify: VerifyAccessToken
  /**
   * Loads keys again for an unknown `kid`; true when the key is known now. @throws Unavailable when the keys cannot be
   * loaded
   */
  findKey(kid: string): Promise<boolean>
  /** The URL of the metadata of the protected resource, which challenges name (RFC 9728 §5.1). */
  readonly resourceMetadata?: string
}

/**
 * Reads `Authorization: Bearer <ACCESS_TOKEN>`. Tokens in a body or in the URL (RFC 6750 §2.2, §2.3) are not accepted.
 */
export function createBearerScheme({ verify, findKey, resourceMetadata }: BearerPorts): Scheme {
  const discovery = resourceMetadata === undefined ? '' : `, resource_metadata="${resourceMetadata}"`
  const challenge = `Bearer realm="${realm}"${discovery}`
  // RFC 6750 §3.1.
  const headers = { 'www-authenticate': [`Bearer realm="${realm}", error="invalid_token"${discovery}`] }
  /** Verifies the token again if its key is found only now. */
  const lookForKey = (token: string) => async (verdict: AccessTokenVerdict) => {
    const unknownKid = !verdict.ok && 'unknownKid' in verdict ? verdict.unknownKid : undefined
    return unknownKid !== undefined && (await findKey(unknownKid)) ? verify(token) : verdict
  }
  return {
    name: 'bearer',
    isSentByBrowsers: false,
    challenge: () => challenge,
    refusalHeaders: () => headers,
    place: { authorization: 'bearer' },
    verify: (token) => {
      const verdict = verify(token)
      // The principal record does not show a revoked key: only the verifier does.
      const recheck = async () => void credentialOf(await verify(token), { headers })
      if (!(verdict instanceof Promise)) return credentialOf(verdict, { headers, recheck })
      return verdict.then(lookForKey(token)).then((found) => credentialOf(found, { headers, recheck }))
    },
  }
}

interface Outcome {
  /** The header fields of a refusal. */
  readonly headers: ResponseHeaders
  readonly recheck?: VerifiedCredential['recheck']
}

/** @throws ProblemError `token-expired`, `invalid-token`; neither repeats any part of the token */
function credentialOf(verdict: AccessTokenVerdict, { headers, recheck }: Outcome): VerifiedCredential {
  if (verdict.ok) {
    const {
      sub: username,
      gen: generation,
      sid: loginId,
      aud: audience,
      jti: tokenId,
      exp,
      scope,
      amr,
      client_id: clientId,
      client_name: clientName,
    } = verdict.claims
    const rights = scope?.split(' ')
    const isForwarded = clientId === proxyClientId
    const expiresAt = exp * 1000
    const client = { clientId, clientName, isForwarded }
    return { username, generation, loginId, audience, tokenId, ...client, expiresAt, rights, amr, recheck }
  }
  if (verdict.problem === 'token-expired') {
    throw new ProblemError('token-expired', 'The access token has expired. Get a new one with the refresh token.', {
      headers,
    })
  }
  throw new ProblemError('invalid-token', `The access token is not accepted: ${verdict.reason}.`, { headers })
}
