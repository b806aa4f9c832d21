import { type Clock, unixSeconds } from '../../shared/platform/clock.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { proxyClientId } from '../../shared/protocol/access-token/access-token.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import type { ApiKeys } from '../api-keys/api-keys.ts'
import type { PrincipalReader } from '../principals/principal-reader.ts'
import type { IssueAccessToken } from '../tokens/access-tokens.ts'

/** The longest lifetime of such a token, in seconds. */
const maxTtlSeconds = 60

/** Other parts that the issuer uses. */
export interface ProxyTokenPorts {
  readonly clock: Clock
  readonly ids: IdSource
  readonly apiKeys: Pick<ApiKeys, 'keepForTokens'>
  readonly inCatalogue: PrincipalReader['inCatalogue']
  readonly issueAccessToken: IssueAccessToken
}

/** ACCESS_TOKEN_TTL and SESSION_IDLE_TTL. */
export interface ProxyTokenSettings {
  readonly accessTokenTtlSeconds: number
  readonly sessionIdleTtlSeconds: number
}

/**
 * Issues a short access token for a service that a proxy protects, to a caller who was authenticated by any scheme. It
 * has the rights of the credential, and ends with it: it carries the same login or API key, the same generation and,
 * where the credential has one, the same id. A password and a Digest secret have neither login nor id; a token made
 * with them lasts until its expiry, unless the user is logged out everywhere or disabled.
 *
 * A signature of a safe request can be repeated by anybody who has seen it. Its token has only rights that read, as the
 * request itself.
 *
 * @throws ProblemError `token-expired`, `login-ended` when the credential ended meanwhile; Unavailable
 */
export type IssueProxyToken = (caller: Caller, audience: string | null) => Promise<string>

/** Creates the issuer. */
export function createProxyTokens(settings: ProxyTokenSettings, ports: ProxyTokenPorts): IssueProxyToken {
  const ttlSeconds = Math.min(maxTtlSeconds, settings.accessTokenTtlSeconds, settings.sessionIdleTtlSeconds)
  return async function issueProxyToken(caller, audience) {
    const { username, scheme, generation, credential } = caller
    const isRepeatable = scheme === 'signed-request' && credential.signature === undefined
    const issuedAt = unixSeconds(ports.clock.now())
    const endsAt = credential.expiresAt === undefined ? Number.POSITIVE_INFINITY : unixSeconds(credential.expiresAt)
    const expiresAt = Math.min(issuedAt + ttlSeconds, endsAt)
    if (expiresAt <= issuedAt) throw new ProblemError('token-expired', 'The credential has expired.').withStatus(401)
    const { loginId = ports.ids.uuid() } = credential
    if (scheme === 'signed-request' && !(await ports.apiKeys.keepForTokens(loginId, expiresAt * 1000)))
      throw new ProblemError('login-ended', 'The API key of this request was revoked.')
    return ports.issueAccessToken({
      username,
      loginId,
      generation: credential.generation ?? generation,
      clientId: proxyClientId,
      tokenId: credential.tokenId,
      audience,
      rights: isRepeatable ? await readingRights(caller, ports) : credential.rights,
      issuedAt,
      expiresAt,
    })
  }
}

/** The rights of a caller that only read. */
async function readingRights({ username, rights }: Caller, { inCatalogue }: ProxyTokenPorts): Promise<string[]> {
  const known = await inCatalogue(username)
  return (known?.catalogue.rights ?? []).flatMap(({ name, readsOnly }) => (readsOnly && rights.has(name) ? [name] : []))
}
