/**
 * Hashes and verifies passwords with Argon2id, so many at once that other requests stay fast, and so many waiting that nobody waits
 * for long. This folder owns how passwords are judged and kept; it must not know whose they are.
 */
import { randomBytes } from 'node:crypto'
import { hash as argon2Hash, verify as argon2Verify, parseOptions } from '@node-rs/argon2'
import {
  createHashingPermits,
  type HashingBounds,
  type HashingPermits,
} from '../../shared/protocol/passwords/hashing-permits.ts'

/** Argon2id's cost. OWASP's floor is 19 456 KiB, two passes, one lane. */
export interface HashParameters {
  readonly memoryKib: number
  readonly passes: number
  readonly lanes: number
}

/** OWASP's floor (Password Storage Cheat Sheet). */
export const defaultHashParameters: HashParameters = { memoryKib: 19_456, passes: 2, lanes: 1 }

/** How hashing is bounded. */
export interface PasswordHashingOptions extends HashingBounds {
  readonly parameters?: HashParameters
}

/** Hashing as logins use it. Everything throws Unavailable(`hashing`) when the queue is full. */
export interface PasswordHashing {
  /** The password's Argon2id hash in PHC form, with a fresh salt. */
  hash(password: string): Promise<string>
  /**
   * True when the password is the hash's. Without a hash it takes the same time and is false. `address` is the client's, as for permits.
   */
  verify(hash: string | null | undefined, password: string, address?: string): Promise<boolean>
  /** True when the hash was made with other parameters than these. */
  needsRehash(hash: string): boolean
  /** What a new hash costs. */
  readonly parameters: HashParameters
  /** Runs other Argon2 work of this process within the same bounds. */
  readonly withPermit: HashingPermits
}

/** Creates the hashing of one process; all logins of the process must share it. */
export function createPasswordHashing(options: PasswordHashingOptions): PasswordHashing {
  const parameters = options.parameters ?? defaultHashParameters
  const { memoryKib, passes, lanes } = parameters
  const cost = { memoryCost: memoryKib, timeCost: passes, parallelism: lanes }
  const withPermit = createHashingPermits(options)
  const dummyHash = argon2Hash(randomBytes(32), cost)
  return {
    hash: (password) => withPermit(() => argon2Hash(password.normalize('NFC'), cost)),
    verify: (hash, password, address) =>
      withPermit(async () => {
        const matches = await argon2Verify(hash ?? (await dummyHash), password.normalize('NFC'))
        return matches && typeof hash === 'string'
      }, address),
    parameters,
    withPermit,
    needsRehash: (hash) => {
      const used = parseOptions(hash)
      return used.memoryCost !== memoryKib || used.timeCost !== passes || used.parallelism !== lanes
    },
  }
}
