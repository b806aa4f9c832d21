/**
 * Hashes passwords with Argon2id, and verifies them, also by hashes of other systems. The number of parallel hashes is
 * limited, so other requests stay fast; the queue is limited, so waits stay short.
 */
import { randomBytes } from 'node:crypto'
import { parseOptions } from '@node-rs/argon2'
import { argon2 } from '../../shared/platform/crypto/argon2-threads.ts'
import { createHashingPermits, type HashingBounds } from '../../shared/platform/crypto/hashing-permits.ts'
import { comparisonOf } from './foreign-hashes.ts'

/** The cost of Argon2id. OWASP's floor is 19,456 KiB, two passes, one lane. */
export interface HashParameters {
  readonly memoryKib: number
  readonly passes: number
  readonly lanes: number
}

/** The default: OWASP's floor (Password Storage Cheat Sheet). */
export const defaultHashParameters: HashParameters = { memoryKib: 19_456, passes: 2, lanes: 1 }

/** Hashes and verifies passwords. */
export type PasswordHashing = ReturnType<typeof createPasswordHashing>

/**
 * Creates the hashing of one process. All logins of the process must share it. Every asynchronous function throws
 * Unavailable(`hashing`) when the queue is full.
 */
export function createPasswordHashing(options: HashingBounds & { readonly parameters?: HashParameters | undefined }) {
  const parameters = options.parameters ?? defaultHashParameters
  const { memoryKib, passes, lanes } = parameters
  const cost = { memoryCost: memoryKib, timeCost: passes, parallelism: lanes }
  const withPermit = createHashingPermits(options)
  const dummyHash = hashOfNothing(parameters)
  return {
    /** Hashes the password with a new salt. The result is in PHC form. */
    hash: (password: string): Promise<string> => withPermit(() => argon2.hash(password.normalize('NFC'), cost)),
    /**
     * True when the hash is a hash of the password. Without a hash the result is false, after the same time.
     * `address` is the address of the client, for the limit of each client.
     */
    verify: (hash: string | null | undefined, password: string, address?: string): Promise<boolean> =>
      withPermit(async () => {
        const foreign = hash && !isArgon2id(hash) ? comparisonOf(hash) : undefined
        if (foreign) return foreign(password)
        const matches = await argon2.verify(hash ?? dummyHash, password.normalize('NFC'))
        return matches && typeof hash === 'string'
      }, address),
    /** The cost of a new hash. */
    parameters,
    /** Runs other Argon2 work of this process within the same bounds. */
    withPermit,
    /** True when the hash was made with other parameters than `parameters`, or by another function. */
    needsRehash: (hash: string): boolean => {
      if (!isArgon2id(hash)) return true
      const used = parseOptions(hash)
      return used.memoryCost !== memoryKib || used.timeCost !== passes || used.parallelism !== lanes
    },
  }
}

const isArgon2id = (hash: string): boolean => hash.startsWith('$argon2id$')

/** A hash in PHC form that no password has: its digest is random. */
function hashOfNothing({ memoryKib, passes, lanes }: HashParameters): string {
  const [salt, digest] = [16, 32].map((bytes) => randomBytes(bytes).toString('base64').replaceAll('=', ''))
  return `$argon2id$v=19$m=${memoryKib},t=${passes},p=${lanes}$${salt}$${digest}`
}
