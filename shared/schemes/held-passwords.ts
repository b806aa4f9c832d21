import type { Clock } from '../clock.ts'
import { createKeyedHash } from '../keyed-hash.ts'
import { holdCredentials } from '../principals/held-credentials.ts'
import { foldUsername } from '../principals/record.ts'
import type { Principals } from './authenticate.ts'
import type { BasicPorts, ProvedUser } from './basic.ts'

export interface HeldPasswordsOptions extends BasicPorts {
  readonly principals: Principals
  readonly clock: Clock
  /** How long a success is held at most, in milliseconds; a minute when left out. */
  readonly ttlMs?: number
}

/**
 * Remembers for a short time which passwords were right, so that hashing is not done per request: under a keyed hash whose key lives and
 * dies with this process, and only as long as the user's principal record stays as it was. Equal credentials that come at once share
 * one verification. What was wrong is never remembered.
 */
export function holdPasswords({ verify, principals, clock, ttlMs = 60_000 }: HeldPasswordsOptions): BasicPorts {
  const nameOf = createKeyedHash()
  const held = holdCredentials<ProvedUser>({
    principals,
    clock,
    maxEntries: 10_000,
    maxBytes: 8_000_000,
    ttlMs,
    unknownForMs: 0,
  })
  return {
    verify: (presented, onBehalfOf) => {
      const name = nameOf(foldUsername(presented.username), presented.password)
      return held.peek(name, onBehalfOf) ?? held.get(name, async () => verify(presented, onBehalfOf), onBehalfOf)
    },
  }
}
