import { loginClientId, proxyClientId } from '../../shared/protocol/access-token/access-token.ts'
import { lacksSecondFactor, refusalOf } from '../../shared/protocol/authentication/authenticate.ts'
import { anonymousUsername, type PrincipalRecord } from '../../shared/protocol/principal/record.ts'
import type { OAuthSystems } from './oauth-systems.ts'

/** A token that servers accept now. */
export interface ActiveToken {
  readonly owner: PrincipalRecord
  /** The members of RFC 7662 §2.2 beside `active`. */
  readonly members: Readonly<Record<string, string | number | readonly string[]>>
}

/** Reads a token of any kind. Undefined when no server would accept it now. @throws Unavailable */
export async function readActiveToken(systems: OAuthSystems, token: string): Promise<ActiveToken | undefined> {
  return (
    (await activeAccessToken(systems, token)) ??
    (await activeRefreshToken(systems, token)) ??
    activeKeySigned(systems, token)
  )
}

async function activeAccessToken(systems: OAuthSystems, token: string): Promise<ActiveToken | undefined> {
  const verdict = await systems.verifyAccessToken(token)
  if (!verdict.ok) return undefined
  const { scope, sub, gen, sid, client_id, ...claims } = verdict.claims
  const owner = await systems.principal(sub)
  if (!owner || refusalOf(owner, { generation: gen, loginId: sid, tokenId: claims.jti, clientId: client_id }))
    return undefined
  if ((await systems.audiences.nameOf(claims.aud)) === undefined) return undefined
  const carried = scope?.split(' ')
  const rights = owner.rights.filter((right) => carried?.includes(right) ?? true)
  const { exp, iat, iss, aud, jti, auth_time, amr } = claims
  const proof = amr && auth_time !== undefined ? { auth_time, amr } : {}
  const identity = { client_id, username: owner.username, sub: owner.username, sid, token_type: 'Bearer' }
  return { owner, members: { scope: rights.join(' '), ...identity, exp, iat, iss, aud, jti, ...proof } }
}

/** Active is only the unused token of a family: a used token gets its client the unused one at best. */
async function activeRefreshToken(systems: OAuthSystems, token: string): Promise<ActiveToken | undefined> {
  const content = systems.refreshTokens.read(token)
  const family = content && (await systems.refreshTokenFamilies.find(content.loginId))
  if (!family?.alive || content?.counter !== family.counter) return undefined
  const endsAt = Math.min(family.refreshExpiresAt, family.expiresAt, content.expiresAt * 1000)
  const owner = endsAt > systems.clock.now() ? await systems.principal(family.username) : undefined
  if (!owner?.enabled) return undefined
  const identity = {
    client_id: family.clientId ?? loginClientId,
    username: owner.username,
    sub: owner.username,
    sid: family.id,
  }
  return { owner, members: { ...identity, exp: content.expiresAt, iss: systems.settings.issuer } }
}

/** Without the scheme `key-signed`, no server accepts such a token. */
async function activeKeySigned(systems: OAuthSystems, token: string): Promise<ActiveToken | undefined> {
  const verdict = systems.verifyKeySignedToken(token)
  if (!verdict.ok || !systems.settings.schemes.includes('key-signed')) return undefined
  const { sub, gen, jti, exp, iat, audience } = verdict.claims
  const owner = await systems.principal(sub ?? anonymousUsername)
  if (!owner || refusalOf(owner, { generation: gen, loginId: undefined, tokenId: jti })) return undefined
  if (lacksSecondFactor(owner, 'key-signed')) return undefined
  const aud = await systems.audiences.nameOf(audience)
  if (aud === undefined) return undefined
  const identity = { username: owner.username, sub: owner.username, token_type: 'KeySigned' }
  return { owner, members: { scope: owner.rights.join(' '), ...identity, exp, iat, aud, jti } }
}

/** The client that a token was issued to, and what a revocation of the token ends. */
export interface TokenIssue {
  readonly clientId: string
  readonly ends: 'login' | 'token' | 'key-signed-token'
}

/**
 * Tells to whom a token was issued, also of an expired or revoked token. Undefined for a text that is no token.
 * Key-signed tokens are issued to the public client of logins, but belong to no login.
 */
export async function issueOfToken(systems: OAuthSystems, token: string): Promise<TokenIssue | undefined> {
  const refresh = systems.refreshTokens.read(token)
  if (refresh) return { clientId: refresh.clientId ?? loginClientId, ends: 'login' }
  const keySigned = systems.verifyKeySignedToken(token)
  if (keySigned.ok || keySigned.problem === 'token-expired')
    return { clientId: loginClientId, ends: 'key-signed-token' }
  const access = await systems.verifyAccessToken(token)
  if (!access.ok && access.problem !== 'token-expired') return undefined
  const { client_id: clientId, sid } = access.claims
  // A token of an API key has the id of the key as its login.
  return { clientId, ends: clientId === sid || clientId === proxyClientId ? 'token' : 'login' }
}
