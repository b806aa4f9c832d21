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

/** Keys and clock by which a remembered verdict is checked. */
interface MemoPorts {
  readonly keys: VerificationKeys
  readonly clock: Clock
}

/**
 * A verifier with a memo of valid tokens, by their whole text. For a remembered one, each call still checks its expiry
 * and whether its key is still known. Only valid tokens are remembered, so invalid ones take no room.
 */
export function rememberVerifiedTokens<Verdict extends RightToken | { readonly ok: false }>(
  verify: (token: string) => Verdict,
  ports: MemoPorts,
): (token: string) => Verdict {
  const verified = createVerifiedTokens<Verdict>(ports)
  return function verifyOnce(token) {
    return verified.get(token, verify)
  }
}

/** The same for a verifier that is awaited. The verdict on a remembered token is there at once. */
export function rememberAwaitedTokens<Verdict extends RightToken | { readonly ok: false }>(
  verify: (token: string) => Promise<Verdict>,
  ports: MemoPorts,
): (token: string) => Verdict | Promise<Verdict> {
  const verified = createVerifiedTokens<Verdict>(ports)
  return function verifyOnce(token) {
    return verified.peek(token) ?? verify(token).then((verdict) => verified.get(token, () => verdict))
  }
}

function createVerifiedTokens<Verdict extends RightToken | { readonly ok: false }>({ keys, clock }: MemoPorts) {
  const isGood = (verdict: Verdict): boolean =>
    verdict.ok && keys.key(verdict.kid) !== undefined && verdict.claims.exp > unixSeconds(clock.now())
  return createMemo<Verdict>({ ...remembered, isGood })
}
