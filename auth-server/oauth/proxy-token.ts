import { unixSeconds } from '../../shared/platform/clock.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { proxyClientId } from '../../shared/protocol/access-token/access-token.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import type { OAuthSystems } from './oauth-systems.ts'

/** The longest lifetime of such a token, in seconds. */
const maxTtlSeconds = 60

/**
 * Issues a short access token for a service that a proxy protects, to a caller who was authenticated by any scheme. It
 * has the rights of the credential, and ends with it: it carries the same login or API key, the same generation and,
 * where the credential has one, the same id. A password and a Digest secret have neither login nor id; a token made
 * with them lasts until its expiry, unless the user is logged out everywhere or disabled.
 *
 * A signature of a safe request can be repeated by anybody who has seen it. Its token has only rights that read, as the
 * request itself; so has the token for an application whose commands wait for approval: with it they would not wait.
 *
 * @throws ProblemError `token-expired`, `login-ended` when the credential has ended; Unavailable
 */
export function createProxyTokens(systems: OAuthSystems) {
  const { accessTokenTtlSeconds, sessionIdleTtlSeconds } = systems.settings
  const ttlSeconds = Math.min(maxTtlSeconds, accessTokenTtlSeconds, sessionIdleTtlSeconds)
  return async function issueProxyToken(caller: Caller, audience: string | null): Promise<string> {
    const { username, scheme, generation, credential, proposes } = caller
    const isRepeatable = scheme === 'signed-request' && credential.signature === undefined
    const issuedAt = unixSeconds(systems.clock.now())
    const endsAt = credential.expiresAt === undefined ? Number.POSITIVE_INFINITY : unixSeconds(credential.expiresAt)
    const expiresAt = Math.min(issuedAt + ttlSeconds, endsAt)
    if (expiresAt <= issuedAt) throw new ProblemError('token-expired', 'The credential has expired.').withStatus(401)
    const { loginId = systems.ids.uuid() } = credential
    if (scheme === 'signed-request' && !(await systems.apiKeys.keepForTokens(loginId, expiresAt * 1000)))
      throw new ProblemError('login-ended', 'The API key of this request was revoked.')
    return systems.issueAccessToken({
      username,
      loginId,
      generation: credential.generation ?? generation,
      clientId: proxyClientId,
      tokenId: credential.tokenId,
      audience,
      rights: isRepeatable || proposes ? await readingRights(caller, systems) : credential.rights,
      issuedAt,
      expiresAt,
    })
  }
}

/** The rights of a caller that only read. */
async function readingRights({ username, rights }: Caller, { inCatalogue }: OAuthSystems): Promise<string[]> {
  const known = await inCatalogue(username)
  return (known?.catalogue.rights ?? []).flatMap(({ name, readsOnly }) => (readsOnly && rights.has(name) ? [name] : []))
}
