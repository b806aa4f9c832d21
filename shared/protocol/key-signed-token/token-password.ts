/** The Argon2id hash of a password in a key-signed token, as both servers compute it. */
import { timingSafeEqual } from 'node:crypto'
import { argon2 } from '../../platform/crypto/argon2-threads.ts'
import type { TokenPasswordHash } from './key-signed-payload.ts'

/**
 * The digest of the password in NFC (RFC 8265 §4.2) with this cost and salt. It takes Argon2's time: run it with a
 * permit.
 */
export const digestTokenPassword = (
  password: string,
  { memoryKib, passes, lanes, salt }: Omit<TokenPasswordHash, 'digest'>,
): Promise<Buffer> =>
  argon2.hashRaw(password.normalize('NFC'), {
    memoryCost: memoryKib,
    timeCost: passes,
    parallelism: lanes,
    outputLen: 32,
    salt,
  })

/** True when the password has this hash. It takes Argon2's time, too. */
export const isTokenPassword = async (hash: TokenPasswordHash, password: string): Promise<boolean> =>
  timingSafeEqual(await digestTokenPassword(password, hash), hash.digest)
