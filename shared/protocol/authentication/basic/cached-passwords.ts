import type { Clock } from '../../../platform/clock.ts'
import { createKeyedHash } from '../../../platform/crypto/keyed-hash.ts'
import type { Traced } from '../../../platform/trace-context.ts'
import { foldUsername } from '../../principal/record.ts'
import type { Principals } from '../authenticate.ts'
import { createCredentialCache } from '../credential-cache.ts'
import type { Attempt, LoginThrottle } from '../login-throttle.ts'
import type { BasicAttempt, BasicPorts, ProvedUser } from './basic.ts'

/** The ports of the cache, and the verification behind it. */
export interface CachedPasswordsOptions extends BasicPorts {
  readonly principals: Principals
  readonly clock: Clock
  readonly loginThrottle: Pick<LoginThrottle, 'judge' | 'noteTry'>
  /** The longest time that a success is cached, in milliseconds; a minute by default. */
  readonly ttlMs?: number
}

/**
 * Caches right passwords for a short time, so that not every request costs a hash. The key is a keyed hash whose key
 * only this process has, over the user name, the password and the address. An entry is valid while the user's principal
 * record does not change. Equal credentials that arrive at once from one address share one verification. Wrong
 * passwords are never cached.
 *
 * `verify` counts its own attempt. Responses without a call of `verify` are judged by the limits, too: for a client
 * that is locked out, a right password must get the same response as a wrong one.
 */
export function cachePasswords(options: CachedPasswordsOptions): BasicPorts {
  const { verify, loginThrottle, ttlMs = 60_000 } = options
  const nameOf = createKeyedHash()
  const held = createCredentialCache<ProvedUser>({ ...options, ...bounds, ttlMs, unknownForMs: 0 })
  const check = async (name: string, received: BasicAttempt, traceContext?: Traced) => {
    const attempt = attemptOf(received)
    let isChecked = false
    loginThrottle.noteTry(attempt)
    const load = async () => {
      isChecked = true
      return verify(received, traceContext)
    }
    const user = await held.get(name, load, traceContext)
    if (!isChecked) await loginThrottle.judge(attempt, user !== undefined)
    return user
  }
  return {
    verify: (received, traceContext) => {
      const name = nameOf(foldUsername(received.username), received.password, received.clientAddress)
      const known = held.peek(name, traceContext)
      if (!known) return check(name, received, traceContext)
      const judging = loginThrottle.judge(attemptOf(received), true)
      return judging === undefined ? known : judging.then(() => known)
    },
  }
}

const bounds = { maxEntries: 10_000, maxBytes: 8_000_000 }

const attemptOf = ({ username, clientAddress }: BasicAttempt): Attempt => ({
  account: username,
  address: clientAddress,
})
