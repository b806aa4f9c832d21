/** Reads tokens for introspection (RFC 7662) and revocation (RFC 7009). */
import type { Clock } from '../../shared/platform/clock.ts'
import { loginClientId } from '../../shared/protocol/access-token/access-token.ts'
import type { VerifyAccessToken } from '../../shared/protocol/access-token/verify-access-token.ts'
import { lacksSecondFactor, refusalOf } from '../../shared/protocol/authentication/authenticate.ts'
import type { VerifyKeySignedToken } from '../../shared/protocol/key-signed-token/verify-key-signed-token.ts'
import { anonymousUsername, type PrincipalRecord } from '../../shared/protocol/principal/record.ts'
import type { RefreshTokenFamilies } from '../logins/refresh-token-families.ts'
import type { RefreshTokens } from '../tokens/refresh-tokens.ts'
import type { Audiences } from './audiences.ts'

/** Other parts that reading tokens uses. */
export interface InspectPorts {
  readonly clock: Clock
  readonly issuer: string
  readonly audiences: Pick<Audiences, 'nameOf'>
  readonly refreshTokenFamilies: Pick<RefreshTokenFamilies, 'find'>
  readonly refreshTokens: Pick<RefreshTokens, 'read'>
  readonly verifyAccessToken: VerifyAccessToken
  readonly verifyKeySignedToken: VerifyKeySignedToken
  /** Whether the scheme `key-signed` is enabled. Without it no server accepts key-signed tokens. */
  readonly servesKeySigned: boolean
  readonly principal: (username: string) => Promise<PrincipalRecord | undefined>
}

/** A token that servers accept now. */
export interface ActiveToken {
  readonly owner: PrincipalRecord
  /** The members of RFC 7662 §2.2 beside `active`. */
  readonly members: Readonly<Record<string, string | number | readonly string[]>>
}

/** Reads a token of any kind. Undefined when no server would accept it now. @throws Unavailable */
export async function readActiveToken(ports: InspectPorts, token: string): Promise<ActiveToken | undefined> {
  return (
    (await activeAccessToken(ports, token)) ?? (await activeRefreshToken(ports, token)) ?? activeKeySigned(ports, token)
  )
}

async function activeAccessToken(ports: InspectPorts, token: string): Promise<ActiveToken | undefined> {
  const verdict = await ports.verifyAccessToken(token)
  if (!verdict.ok) return undefined
  const { scope, sub, gen, sid, client_id, ...claims } = verdict.claims
  const owner = await ports.principal(sub)
  if (!owner || refusalOf(owner, { generation: gen, loginId: sid, tokenId: claims.jti })) return undefined
  if ((await ports.audiences.nameOf(claims.aud)) === undefined) return undefined
  const carried = scope?.split(' ')
  const rights = owner.rights.filter((right) => carried?.includes(right) ?? true)
  const { exp, iat, iss, aud, jti, auth_time, amr } = claims
  const proof = amr && auth_time !== undefined ? { auth_time, amr } : {}
  const identity = { client_id, username: owner.username, sub: owner.username, token_type: 'Bearer' }
  return { owner, members: { scope: rights.join(' '), ...identity, exp, iat, iss, aud, jti, ...proof } }
}

/** Active is only the unused token of a family: a used token gets its client the unused one at best. */
async function activeRefreshToken(ports: InspectPorts, token: string): Promise<ActiveToken | undefined> {
  const content = ports.refreshTokens.read(token)
  const family = content && (await ports.refreshTokenFamilies.find(content.loginId))
  if (!family?.alive || content?.counter !== family.counter) return undefined
  const endsAt = Math.min(family.refreshExpiresAt, family.expiresAt, content.expiresAt * 1000)
  const owner = endsAt > ports.clock.now() ? await ports.principal(family.username) : undefined
  if (!owner?.enabled) return undefined
  const identity = { client_id: loginClientId, username: owner.username, sub: owner.username }
  return { owner, members: { ...identity, exp: content.expiresAt, iss: ports.issuer } }
}

async function activeKeySigned(ports: InspectPorts, token: string): Promise<ActiveToken | undefined> {
  const verdict = ports.verifyKeySignedToken(token)
  if (!verdict.ok || !ports.servesKeySigned) return undefined
  const { sub, gen, jti, exp, iat, audience } = verdict.claims
  const owner = await ports.principal(sub ?? anonymousUsername)
  if (!owner || refusalOf(owner, { generation: gen, loginId: undefined, tokenId: jti })) return undefined
  if (lacksSecondFactor(owner, 'key-signed')) return undefined
  const aud = await ports.audiences.nameOf(audience)
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
export async function issueOfToken(
  ports: Pick<InspectPorts, 'refreshTokens' | 'verifyAccessToken' | 'verifyKeySignedToken'>,
  token: string,
): Promise<TokenIssue | undefined> {
  if (ports.refreshTokens.read(token)) return { clientId: loginClientId, ends: 'login' }
  const keySigned = ports.verifyKeySignedToken(token)
  if (keySigned.ok || keySigned.problem === 'token-expired')
    return { clientId: loginClientId, ends: 'key-signed-token' }
  const access = await ports.verifyAccessToken(token)
  if (!access.ok && access.problem !== 'token-expired') return undefined
  const clientId = access.claims.client_id
  return { clientId, ends: clientId === loginClientId ? 'login' : 'token' }
}
