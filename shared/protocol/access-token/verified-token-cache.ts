import { createBoundedCache } from '../../platform/cache/bounded-cache.ts'
import { type Clock, unixSeconds } from '../../platform/clock.ts'
import type { VerificationKeys } from './verify-access-token.ts'

/** Bounds of the cache of verified tokens. */
const remembered = { maxEntries: 10_000, maxBytes: 24_000_000 }

/** The verdict for a valid token. `exp` is in seconds since the epoch. */
interface RightToken {
  readonly ok: true
  readonly kid: string
  readonly claims: { readonly exp: number }
}

/**
 * A verifier with a cache of valid tokens, by their whole text. For a cached token, each call still checks its expiry
 * and whether its key is still known. Only valid tokens are cached, so invalid ones take no room.
 */
export function rememberVerifiedTokens<Verdict extends RightToken | { readonly ok: false }>(
  verify: (token: string) => Verdict,
  { keys, clock }: { readonly keys: VerificationKeys; readonly clock: Clock },
): (token: string) => Verdict {
  const verified = createBoundedCache<Verdict & RightToken>(remembered)
  return (token) => {
    const known = verified.get(token)
    if (known && keys.key(known.kid) && known.claims.exp > unixSeconds(clock.now())) return known
    const verdict = verify(token)
    if (isRight(verdict)) verified.set(token, verdict)
    else if (known) verified.delete(token)
    return verdict
  }
}

const isRight = <Verdict extends { readonly ok: boolean }>(verdict: Verdict): verdict is Verdict & RightToken =>
  verdict.ok
