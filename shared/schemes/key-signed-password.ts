/** The password beside a key-signed token: how it is sent, and how its check is kept from costing an Argon2 hash a request. */
import { createBoundedCache } from '../bounded-cache.ts'
import type { Clock } from '../clock.ts'
import { Refused } from '../errors.ts'
import { createKeyedHash } from '../keyed-hash.ts'
import type { Guesses } from '../limits/guesses.ts'
import type { WithHashingPermit } from '../passwords/hashing-permits.ts'
import { exceedsPasswordLimit, maxPasswordBytes } from '../passwords/password-limits.ts'
import { isTokenPassword } from '../passwords/token-password.ts'
import { anonymousUsername } from '../principals/record.ts'
import type { KeySignedClaims } from '../tokens/key-signed-payload.ts'
import type { TokenPasswords } from './key-signed.ts'

/** Base64url of the longest password: three octets a character at most. */
const maxFieldLength = 4 * maxPasswordBytes

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The password that the field holds.
 * @throws Refused `invalid-parameter` for what is no password in UTF-8 and base64url (RFC 4648 §5), padded or not
 */
function passwordIn(field: string): string {
  const password = decode(field)
  if (password === undefined || password === '' || exceedsPasswordLimit(password)) throw notAPassword()
  return password
}

const notAPassword = () =>
  new Refused('invalid-parameter', 'X-Key-Signed-Password must be the password in UTF-8, as base64url.')

function decode(field: string): string | undefined {
  const octets = Buffer.from(field, 'base64url')
  const unpadded = octets.toString('base64url')
  // Many libraries pad without being asked.
  const padded = unpadded.padEnd(Math.ceil(unpadded.length / 4) * 4, '=')
  if (field !== unpadded && field !== padded) return undefined
  try {
    return utf8.decode(octets)
  } catch {
    return undefined
  }
}

export interface TokenPasswordPorts {
  readonly withPermit: WithHashingPermit
  readonly guesses: Pick<Guesses, 'attempt'>
  readonly clock: Clock
}

/** So many right passwords are remembered. */
const remembered = { maxEntries: 10_000, maxBytes: 2_000_000 }

/**
 * Checks against the hash in the token. A right password is remembered until its token expires, as nothing but a hash under a key that
 * this process alone has. Requests with one and the same password share a hash, and each of them counts as an attempt of its own.
 */
export function createTokenPasswords({ withPermit, guesses, clock }: TokenPasswordPorts): TokenPasswords {
  const hashOf = createKeyedHash()
  const right = createBoundedCache<true>({ ...remembered, clock })
  const checking = new Map<string, Promise<true | undefined>>()

  const check = async (claims: KeySignedClaims, password: string, name: string): Promise<true | undefined> => {
    const { passwordHash, exp } = claims
    if (passwordHash === null) return undefined
    if (!(await withPermit(() => isTokenPassword(passwordHash, password)))) return undefined
    right.set(name, true, { ttlMs: Math.max(1, exp * 1000 - clock.now()) })
    return true
  }
  const checkOnce = (claims: KeySignedClaims, password: string, name: string): Promise<true | undefined> => {
    const underWay = checking.get(name)
    if (underWay) return underWay
    const started = check(claims, password, name).finally(() => checking.delete(name))
    checking.set(name, started)
    return started
  }
  return {
    isRight: (claims, { field, address }) => {
      if (field.length > maxFieldLength) throw notAPassword()
      const name = hashOf(claims.jti, field)
      if (right.get(name)) return true
      const password = passwordIn(field)
      const who = claims.sub === null ? { account: claims.jti, actor: anonymousUsername } : { account: claims.sub }
      return guesses
        .attempt({ ...who, address }, () => checkOnce(claims, password, name))
        .then((isRight) => isRight === true)
    },
  }
}
