import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { defaultHashParameters } from '../../auth-server/passwords/password-hashing.ts'
import type { Subject } from '../runner/compare.ts'
import { repeatedAsync } from './repeated.ts'

/** The default of HASH_CONCURRENCY: the number of hashes that the auth server computes at once. */
export const hashConcurrency = Math.max(1, availableParallelism() - 1)

/** The floor of logins: Argon2id alone, with the parameters of the auth server and as many at once. */
export async function passwordHash(): Promise<Subject> {
  const { memoryKib, passes, lanes } = defaultHashParameters
  const password = 'correct horse battery staple'
  const stored = await hash(password, { memoryCost: memoryKib, timeCost: passes, parallelism: lanes })
  const batches = { atOnce: hashConcurrency, batch: 4 * hashConcurrency }
  return repeatedAsync('Argon2id, as many at once', () => verify(stored, password), batches)
}
