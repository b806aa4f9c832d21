import { unixSeconds } from '../../shared/platform/clock.ts'
import type { EntryOrigin } from '../../shared/protocol/entry-changes.ts'
import type { Client } from './clients.ts'
import { invalidClient, OAuthError } from './oauth-error.ts'
import type { OAuthSystems } from './oauth-systems.ts'

/** The response of the grant (RFC 6749 §4.4.3): no refresh token. */
export interface ClientCredentialsResponse {
  readonly access_token: string
  readonly token_type: 'Bearer'
  /** Seconds. */
  readonly expires_in: number
  /** Rights that the token has now. Left out when there are none: the syntax has no empty scope. */
  readonly scope?: string
}

/** What a client asks for. */
export interface TokenRequest {
  /** The parameter as sent. */
  readonly scope: string | undefined
  /** The audience of the token; null: that of the pair. */
  readonly audience: string | null
  /** How the client authenticated. */
  readonly method: string
  /** Of the audit entry. */
  readonly origin: EntryOrigin
}

/**
 * Issues an access token of an API key, for the owner of the key (RFC 6749 §4.4). The token is revoked with the key,
 * whose id is its `sid`. A logout everywhere revokes it too, because it raises the owner's credential generation; the
 * key itself stays and can get another token. The token never has more rights than the key. `scope` narrows them
 * further. The token is signed while its expiry and its audit entry are stored, and answered when they are: the same
 * statement finds a key that another server has revoked a moment ago.
 *
 * @throws OAuthError `invalid_scope`; `invalid_client` when the key has been revoked or has expired; Unavailable
 */
export function createClientCredentialsGrant(systems: OAuthSystems) {
  const { clock, apiKeys, audit, issueAccessToken, settings } = systems
  return async function issueForClient(
    { key, owner }: Client,
    { scope, audience, method: scheme, origin }: TokenRequest,
  ): Promise<ClientCredentialsResponse> {
    const allowed = owner.rights.filter((right) => key.rights?.includes(right) ?? true)
    const requested = scope === undefined ? undefined : requestedRights(scope, allowed)
    const issuedAt = unixSeconds(clock.now())
    const keyExpiresAt = key.expiresAt === null ? Number.POSITIVE_INFINITY : unixSeconds(key.expiresAt)
    const expiresAt = Math.min(issuedAt + settings.accessTokenTtlSeconds, keyExpiresAt)
    const entry = { actor: owner.username, action: 'token.issued', target: key.id, scheme }
    if (expiresAt <= issuedAt) throw invalidClient()
    const [isKept, accessToken] = await Promise.all([
      audit.beginning(origin, () => apiKeys.keepForTokens(key.id, expiresAt * 1000, entry)),
      issueAccessToken({
        username: owner.username,
        loginId: key.id,
        generation: owner.generation,
        clientId: key.id,
        audience,
        issuedAt,
        expiresAt,
        rights: requested ?? key.rights ?? undefined,
      }),
    ])
    if (!isKept) throw invalidClient()
    const effectiveScope = (requested ?? allowed).join(' ')
    return {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: expiresAt - issuedAt,
      ...(effectiveScope === '' ? {} : { scope: effectiveScope }),
    }
  }
}

/** Lists the rights that a scope names, each once (RFC 6749 §3.3). @throws OAuthError `invalid_scope` */
function requestedRights(scope: string, allowed: readonly string[]): string[] {
  const rights = [...new Set(scope.split(' '))]
  if (rights.every((right) => allowed.includes(right))) return rights
  throw new OAuthError('invalid_scope', 'scope: Names of rights that the client has, with one space between.')
}
