/**
 * Hashes and verifies passwords with Argon2id, so many at once that other requests stay fast, and so many waiting that nobody waits
 * for long. This folder owns how passwords are judged and kept; it must not know whose they are.
 */
import { randomBytes } from 'node:crypto'
import { hash as argon2Hash, verify as argon2Verify, parseOptions } from '@node-rs/argon2'
import { Unavailable } from '../../shared/errors.ts'

/** Argon2id's cost. OWASP's floor is 19 456 KiB, two passes, one lane. */
export interface HashParameters {
  readonly memoryKib: number
  readonly passes: number
  readonly lanes: number
}

/** OWASP's floor (Password Storage Cheat Sheet). */
export const defaultHashParameters: HashParameters = { memoryKib: 19_456, passes: 2, lanes: 1 }

/** How hashing is bounded. */
export interface PasswordHashingOptions {
  /** `HASH_CONCURRENCY`: hashes at once. More than there are cores only makes each slower. */
  readonly concurrency: number
  /** How many may wait beyond these; 100 for each concurrent one when left out, which is less than a second of work. */
  readonly maxQueued?: number
  readonly parameters?: HashParameters
}

/** Hashing as logins use it. Everything throws Unavailable(`hashing`) when the queue is full. */
export interface PasswordHashing {
  /** The password's Argon2id hash in PHC form, with a fresh salt. */
  hash(password: string): Promise<string>
  /** True when the password is the hash's. Without a hash it takes the same time and is false. */
  verify(hash: string | null | undefined, password: string): Promise<boolean>
  /** True when the hash was made with other parameters than these. */
  needsRehash(hash: string): boolean
}

/** Creates the hashing of one process; all logins of the process must share it. */
export function createPasswordHashing(options: PasswordHashingOptions): PasswordHashing {
  const { memoryKib, passes, lanes } = options.parameters ?? defaultHashParameters
  const cost = { memoryCost: memoryKib, timeCost: passes, parallelism: lanes }
  const withPermit = createPermits(options.concurrency, options.maxQueued ?? options.concurrency * 100)
  const strangersHash = argon2Hash(randomBytes(32), cost)
  return {
    hash: (password) => withPermit(() => argon2Hash(password.normalize('NFC'), cost)),
    verify: (hash, password) =>
      withPermit(async () => {
        const matches = await argon2Verify(hash ?? (await strangersHash), password.normalize('NFC'))
        return matches && typeof hash === 'string'
      }),
    needsRehash: (hash) => {
      const used = parseOptions(hash)
      return used.memoryCost !== memoryKib || used.timeCost !== passes || used.parallelism !== lanes
    },
  }
}

/**
 * At most `concurrency` works at once and `maxQueued` waiting, in order of arrival. A permit is given back when the work ends and
 * not when its caller goes away, since the work goes on.
 */
function createPermits(concurrency: number, maxQueued: number) {
  const waiting: (() => void)[] = []
  let free = concurrency
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (free > 0) free -= 1
    else if (waiting.length < maxQueued) await new Promise<void>((resolve) => waiting.push(resolve))
    else throw new Unavailable('hashing', { retryAfterSeconds: 1 })
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
}
