import { randomBytes, randomFillSync } from 'node:crypto'
import { v7 } from 'uuid'
import type { Clock } from './clock.ts'

/** The only source of identifiers and random secrets. */
export interface IdSource {
  /** A UUIDv7 (RFC 9562 §5.7). It grows with time, which suits indexes. Not a secret. */
  uuid(): string
  /** `bytes` random bytes as base64url: unguessable. */
  secret(bytes: number): string
}

/** Creates identifiers from the random source of the operating system and the time of `clock`. */
export function createIdSource(clock: Clock): IdSource {
  const nextRandom = randomChunks(16)
  return {
    uuid: () => v7({ msecs: clock.now(), random: nextRandom() }),
    secret: (bytes) => randomBytes(bytes).toString('base64url'),
  }
}

/** The time at which a UUIDv7 was made, in milliseconds since 1970; NaN for other text. */
export const timeOfId = (id: string): number =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(id) ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : Number.NaN

/** True for the form of an id as this server writes it: a UUID in lower case, of any version. */
export const isId = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)

/** Fetches random bytes for 256 identifiers at once: one call for each would cost more than the identifier. */
function randomChunks(bytes: number): () => Uint8Array {
  const pool = new Uint8Array(256 * bytes)
  let used = pool.length
  return () => {
    if (used === pool.length) {
      randomFillSync(pool)
      used = 0
    }
    used += bytes
    return pool.subarray(used - bytes, used)
  }
}
