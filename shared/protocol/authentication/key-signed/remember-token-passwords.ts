/**
 * The password that comes with a key-signed token: how it is sent, and a cache so that not every request costs a check,
 * which takes the time of an Argon2 hash.
 */
import { createBoundedCache } from '../../../platform/cache/bounded-cache.ts'
import type { Clock } from '../../../platform/clock.ts'
import { createKeyedHash } from '../../../platform/crypto/keyed-hash.ts'
import { ProblemError } from '../../../platform/problems/errors.ts'
import type { KeySignedClaims } from '../../key-signed-token/key-signed-payload.ts'
import { exceedsPasswordLimit, maxPasswordBytes } from '../../principal/password-limits.ts'
import { anonymousUsername } from '../../principal/record.ts'
import type { Attempt, LoginThrottle } from '../login-throttle.ts'
import type { TokenPasswordAttempt, TokenPasswords } from './key-signed.ts'

/** The longest field: base64url of the longest password, with three octets a character at most. */
const maxFieldLength = 4 * maxPasswordBytes

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The password in the field.
 * @throws ProblemError `invalid-parameter` for a text that is not a password in UTF-8 and base64url (RFC 4648 §5),
 * padded or not
 */
function passwordIn(field: string): string {
  const password = decode(field)
  if (password === undefined || password === '' || exceedsPasswordLimit(password)) throw notAPassword()
  return password
}

const notAPassword = () =>
  new ProblemError('invalid-parameter', 'X-Key-Signed-Password must be the password in UTF-8, as base64url.')

function decode(field: string): string | undefined {
  const octets = Buffer.from(field, 'base64url')
  const unpadded = octets.toString('base64url')
  // Many libraries add padding by default.
  const padded = unpadded.padEnd(Math.ceil(unpadded.length / 4) * 4, '=')
  if (field !== unpadded && field !== padded) return undefined
  try {
    return utf8.decode(octets)
  } catch {
    return undefined
  }
}

/** The check of passwords that are not remembered, and the limits. */
export interface RememberedPasswordPorts {
  /**
   * True when the password is the one of the token. Counts the attempt. @throws ProblemError `too-many-attempts`;
   * Unavailable
   */
  check(claims: KeySignedClaims, attempt: DecodedAttempt): Promise<boolean>
  readonly loginThrottle: Pick<LoginThrottle, 'judge'>
  readonly clock: Clock
}

/** A password whose field was read. */
export interface DecodedAttempt extends TokenPasswordAttempt {
  readonly password: string
}

/** Bounds of the cache of right passwords. */
const remembered = { maxEntries: 10_000, maxBytes: 2_000_000 }

/**
 * Remembers right passwords until their token expires, for the address that proved it, as a hash under a key that only
 * this process has. A request that is accepted from memory is judged by the limits, too.
 */
export function rememberTokenPasswords({ check, loginThrottle, clock }: RememberedPasswordPorts): TokenPasswords {
  const hashOf = createKeyedHash()
  const right = createBoundedCache<true>({ ...remembered, clock })
  const checkAndRemember = async (name: string, claims: KeySignedClaims, tried: DecodedAttempt): Promise<boolean> => {
    const isRight = await check(claims, tried)
    if (isRight) right.set(name, true, { ttlMs: Math.max(1, claims.exp * 1000 - clock.now()) })
    return isRight
  }
  return {
    isRight: (claims, tried) => {
      const { field, address } = tried
      if (field.length > maxFieldLength) throw notAPassword()
      const name = hashOf(claims.jti, field, address)
      if (!right.get(name)) return checkAndRemember(name, claims, { ...tried, password: passwordIn(field) })
      const judging = loginThrottle.judge(attemptOf(claims, tried), true)
      return judging === undefined ? true : judging.then(() => true)
    },
  }
}

/** How a password counts for the limits. */
export const attemptOf = ({ sub, jti }: KeySignedClaims, { address }: TokenPasswordAttempt): Attempt =>
  sub === null ? { account: jti, actor: anonymousUsername, address } : { account: sub, address }
