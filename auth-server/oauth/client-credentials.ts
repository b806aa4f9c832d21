import { type Clock, unixSeconds } from '../../shared/platform/clock.ts'
import type { ApiKeys } from '../api-keys/api-keys.ts'
import type { IssueAccessToken } from '../tokens/access-tokens.ts'
import type { Client } from './clients.ts'
import { invalidClient, OAuthError } from './oauth-error.ts'

/** What the grant answers (RFC 6749 §4.4.3): no refresh token. */
export interface ClientCredentialsResponse {
  readonly access_token: string
  readonly token_type: 'Bearer'
  /** Seconds. */
  readonly expires_in: number
  /** What the token may do now; left out when that is nothing, which has no form. */
  readonly scope?: string
}

/** What the grant needs. */
export interface ClientCredentialsPorts {
  readonly clock: Clock
  readonly apiKeys: Pick<ApiKeys, 'keepForTokens'>
  readonly issueAccessToken: IssueAccessToken
  readonly accessTokenTtlSeconds: number
}

/**
 * An access token of an API key, for its owner (RFC 6749 §4.4). It ends with the key, whose id is its `sid`, and like every token with
 * its owner's generation: logout everywhere ends it too, though the key itself stays and may ask for another one. What it may do is
 * never more than the key, and `scope` may narrow that further.
 *
 * @param scope the parameter as sent
 * @throws OAuthError `invalid_scope`; `invalid_client` when the key ended meanwhile; Unavailable
 */
export type GrantClientCredentials = (client: Client, scope: string | undefined) => Promise<ClientCredentialsResponse>

/** The grant over these ports. */
export function createClientCredentialsGrant(ports: ClientCredentialsPorts): GrantClientCredentials {
  const { clock, apiKeys, issueAccessToken, accessTokenTtlSeconds } = ports
  return async ({ key, owner }, scope) => {
    const allowed = owner.rights.filter((right) => key.rights?.includes(right) ?? true)
    const requested = scope === undefined ? undefined : requestedRights(scope, allowed)
    const issuedAt = unixSeconds(clock.now())
    const keyExpiresAt = key.expiresAt === null ? Number.POSITIVE_INFINITY : unixSeconds(key.expiresAt)
    const expiresAt = Math.min(issuedAt + accessTokenTtlSeconds, keyExpiresAt)
    if (expiresAt <= issuedAt || !(await apiKeys.keepForTokens(key.id, expiresAt * 1000))) throw invalidClient()
    const accessToken = await issueAccessToken({
      username: owner.username,
      loginId: key.id,
      generation: owner.generation,
      clientId: key.id,
      issuedAt,
      expiresAt,
      rights: requested ?? key.rights ?? undefined,
    })
    const now = (requested ?? allowed).join(' ')
    return {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: expiresAt - issuedAt,
      ...(now === '' ? {} : { scope: now }),
    }
  }
}

/** The rights that a scope names, each once (RFC 6749 §3.3). @throws OAuthError `invalid_scope` */
function requestedRights(scope: string, allowed: readonly string[]): string[] {
  const rights = [...new Set(scope.split(' '))]
  if (rights.every((right) => allowed.includes(right))) return rights
  throw new OAuthError('invalid_scope', 'scope: names of rights that the client has, with one space between.')
}
