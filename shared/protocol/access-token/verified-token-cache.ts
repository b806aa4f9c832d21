import { createMemo } from '../../platform/cache/memo.ts'
import { type Clock, unixSeconds } from '../../platform/clock.ts'
import type { VerificationKeys } from './verify-access-token.ts'

/** Bounds of the memo of verified tokens. */
const remembered = { maxEntries: 10_000, maxBytes: 24_000_000 }

/** The verdict for a valid token. `exp` is in seconds since the epoch. */
interface RightToken {
  readonly ok: true
  readonly kid: string
  readonly claims: { readonly exp: number }
}

/**
 * A verifier with a memo of valid tokens, by their whole text. For a remembered one, each call still checks its expiry
 * and whether its key is still known. Only valid tokens are remembered, so invalid ones take no room.
 */
export function rememberVerifiedTokens<Verdict extends RightToken | { readonly ok: false }>(
  verify: (token: string) => Verdict,
  { keys, clock }: { readonly keys: VerificationKeys; readonly clock: Clock },
): (token: string) => Verdict {
  const isGood = (verdict: Verdict): boolean =>
    verdict.ok && keys.key(verdict.kid) !== undefined && verdict.claims.exp > unixSeconds(clock.now())
  const verified = createMemo<Verdict>({ ...remembered, isGood })
  function verifyOnce(token: string): Verdict {
    return verified.get(token, verify)
  }
  return verifyOnce
}
