import { LRUCache } from 'lru-cache'
import { unixSeconds } from '../clock.ts'
import type { AccessTokenExpectations, AccessTokenVerdict, VerifyAccessToken } from './verify-access-token.ts'

/** So many verified tokens are remembered: about 10 MB. */
const maxTokens = 10_000

/**
 * A verifier that remembers tokens whose signature was right, by their whole text. Whether a remembered one has expired, and
 * whether its key is still there, is looked at each time. Only what `verify` accepted is kept: a stranger's junk takes no room.
 */
export function rememberVerifiedTokens(
  verify: VerifyAccessToken,
  { keys, clock }: Pick<AccessTokenExpectations, 'keys' | 'clock'>,
): VerifyAccessToken {
  const verified = new LRUCache<string, AccessTokenVerdict & { ok: true }>({ max: maxTokens })
  return (token) => {
    const known = verified.get(token)
    if (known && keys.key(known.kid) && known.claims.exp > unixSeconds(clock.now())) return known
    const verdict = verify(token)
    if (verdict.ok) verified.set(token, verdict)
    else if (known) verified.delete(token)
    return verdict
  }
}
