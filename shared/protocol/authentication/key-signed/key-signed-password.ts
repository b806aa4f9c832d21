/** The check of the password of a key-signed token against the hash in the token. */
import type { Clock } from '../../../platform/clock.ts'
import { createSharedCalls } from '../../../platform/concurrency/share-calls.ts'
import type { WithHashingPermit } from '../../../platform/crypto/hashing-permits.ts'
import { createKeyedHash } from '../../../platform/crypto/keyed-hash.ts'
import { isTokenPassword } from '../../key-signed-token/token-password.ts'
import type { LoginThrottle } from '../login-throttle.ts'
import type { TokenPasswords } from './key-signed.ts'
import { attemptOf, type RememberedPasswordPorts, rememberTokenPasswords } from './remember-token-passwords.ts'

interface TokenPasswordPorts {
  readonly withPermit: WithHashingPermit
  readonly loginThrottle: Pick<LoginThrottle, 'attempt' | 'judge'>
  readonly clock: Clock
}

/**
 * Checks passwords against the hash in the token. Concurrent requests with the same password share a hash. Each of them
 * counts as an attempt of its own.
 */
export function createTokenPasswords({ withPermit, loginThrottle, clock }: TokenPasswordPorts): TokenPasswords {
  const hashOf = createKeyedHash()
  const checks = createSharedCalls<true | undefined>()
  const check: RememberedPasswordPorts['check'] = async (claims, tried) => {
    const { jti, passwordHash } = claims
    const { field, address, password } = tried
    const checkOnce = async (): Promise<true | undefined> => {
      if (passwordHash === null) return undefined
      const hash = async () => (await withPermit(() => isTokenPassword(passwordHash, password), address)) || undefined
      return checks.share(hashOf(jti, field), hash)
    }
    return (await loginThrottle.attempt(attemptOf(claims, tried), checkOnce)) === true
  }
  return rememberTokenPasswords({ check, loginThrottle, clock })
}
