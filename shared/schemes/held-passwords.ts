import { createHmac, randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { holdCredentials } from '../principals/held-credentials.ts'
import { foldUsername } from '../principals/record.ts'
import type { Principals } from './authenticate.ts'
import type { BasicPorts, ProvedUser } from './basic.ts'
import type { BasicCredential } from './basic-credential.ts'

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
  const processKey = randomBytes(32)
  const held = holdCredentials<ProvedUser>({ principals, clock, max: 10_000, ttlMs, unknownForMs: 0 })
  return { verify: (presented) => held.get(keyOf(presented, processKey), () => verify(presented)) }
}

/** With the name's length before it, no two credentials are one text. */
function keyOf({ username, password }: BasicCredential, processKey: Buffer): string {
  const name = foldUsername(username)
  return createHmac('sha256', processKey).update(`${name.length}:${name}${password}`).digest('base64url')
}
