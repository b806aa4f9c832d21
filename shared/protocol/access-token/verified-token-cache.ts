import { createBoundedCache } from '../../platform/cache/bounded-cache.ts'
import { type Clock, unixSeconds } from '../../platform/clock.ts'
import type { VerificationKeys } from './verify-access-token.ts'

/** So many verified tokens are remembered. */
const remembered = { maxEntries: 10_000, maxBytes: 24_000_000 }

/** What a verifier says of a token that is right. Seconds since the epoch. */
interface RightToken {
  readonly ok: true
  readonly kid: string
  readonly claims: { readonly exp: number }
}

/**
 * A verifier that remembers tokens whose signature was right, by their whole text. Whether a remembered one has expired, and
 * whether its key is still there, is looked at each time. Only what `verify` accepted is kept: a stranger's junk takes no room.
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
