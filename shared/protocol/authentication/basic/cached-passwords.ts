import type { Clock } from '../../../platform/clock.ts'
import { createKeyedHash } from '../../../platform/crypto/keyed-hash.ts'
import type { Traced } from '../../../platform/http/trace.ts'
import type { Attempt, Guesses } from '../../login-throttle/login-throttle.ts'
import { foldUsername } from '../../principal/record.ts'
import type { Principals } from '../authenticate.ts'
import { holdCredentials } from '../credential-cache.ts'
import type { BasicPorts, PresentedBasic, ProvedUser } from './basic.ts'

export interface HeldPasswordsOptions extends BasicPorts {
  readonly principals: Principals
  readonly clock: Clock
  readonly guesses: Pick<Guesses, 'judge' | 'noteTry'>
  /** How long a success is held at most, in milliseconds; a minute when left out. */
  readonly ttlMs?: number
}

/**
 * Remembers for a short time which passwords were right, so that hashing is not done per request: under a keyed hash whose key lives and
 * dies with this process, for the address that proved them, and only as long as the user's principal record stays as it was. Equal
 * credentials that come at once from one address share one verification. What was wrong is never remembered.
 *
 * `verify` counts its own attempt. Whoever is answered without having run it is judged by the limits as well: a client that is locked out
 * must not learn of a right guess by another answer than of a wrong one.
 */
export function holdPasswords(options: HeldPasswordsOptions): BasicPorts {
  const { verify, guesses, ttlMs = 60_000 } = options
  const nameOf = createKeyedHash()
  const held = holdCredentials<ProvedUser>({ ...options, ...bounds, ttlMs, unknownForMs: 0 })
  const check = async (name: string, presented: PresentedBasic, onBehalfOf?: Traced) => {
    const attempt = attemptOf(presented)
    let isChecked = false
    guesses.noteTry(attempt)
    const load = async () => {
      isChecked = true
      return verify(presented, onBehalfOf)
    }
    const user = await held.get(name, load, onBehalfOf)
    if (!isChecked) await guesses.judge(attempt, user !== undefined)
    return user
  }
  return {
    verify: (presented, onBehalfOf) => {
      const name = nameOf(foldUsername(presented.username), presented.password, presented.clientAddress)
      const known = held.peek(name, onBehalfOf)
      if (!known) return check(name, presented, onBehalfOf)
      const judging = guesses.judge(attemptOf(presented), true)
      return judging === undefined ? known : judging.then(() => known)
    },
  }
}

const bounds = { maxEntries: 10_000, maxBytes: 8_000_000 }

const attemptOf = ({ username, clientAddress }: PresentedBasic): Attempt => ({
  account: username,
  address: clientAddress,
})
