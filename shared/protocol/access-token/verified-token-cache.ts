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

/** Keys and clock by which a remembered verdict is checked. */
interface CachePorts {
  readonly keys: VerificationKeys
  readonly clock: Clock
}

/**
 * A verifier with a cache of valid tokens, by their whole text. For a cached token, each call still checks its expiry
 * and whether its key is still known, and gives the verdict at once. Only valid tokens are cached, so invalid ones take
 * no room.
 */
export function rememberVerifiedTokens<Verdict extends RightToken | { readonly ok: false }>(
  verify: (token: string) => Verdict,
  ports: CachePorts,
): (token: string) => Verdict {
  const verified = createVerifiedTokenCache<Verdict>(ports)
  return (token) => verified.find(token) ?? verified.keep(token, verify(token))
}

/** The same for a verifier that is awaited. */
export function rememberAwaitedTokens<Verdict extends RightToken | { readonly ok: false }>(
  verify: (token: string) => Promise<Verdict>,
  ports: CachePorts,
): (token: string) => Verdict | Promise<Verdict> {
  const verified = createVerifiedTokenCache<Verdict>(ports)
  return (token) => verified.find(token) ?? verify(token).then((verdict) => verified.keep(token, verdict))
}

function createVerifiedTokenCache<Verdict extends RightToken | { readonly ok: false }>({ keys, clock }: CachePorts) {
  const verified = createBoundedCache<Verdict & RightToken>(remembered)
  return {
    find: (token: string): Verdict | undefined => {
      const known = verified.get(token)
      return known && keys.key(known.kid) && known.claims.exp > unixSeconds(clock.now()) ? known : undefined
    },
    keep: (token: string, verdict: Verdict): Verdict => {
      if (isRight(verdict)) verified.set(token, verdict)
      else verified.delete(token)
      return verdict
    },
  }
}

const isRight = <Verdict extends { readonly ok: boolean }>(verdict: Verdict): verdict is Verdict & RightToken =>
  verdict.ok
