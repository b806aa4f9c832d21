import { randomBytes } from 'node:crypto'
import { v7 } from 'uuid'
import type { Clock } from './clock.ts'

/** The only source of identifiers and random secrets. */
export interface IdSource {
  /** A UUIDv7 (RFC 9562 §5.7): grows with time, so that it indexes well. Not a secret. */
  uuid(): string
  /** `bytes` random bytes as base64url: unguessable. */
  secret(bytes: number): string
}

/** Identifiers from the operating system's random source, with the time of `clock`. */
export function createIdSource(clock: Clock): IdSource {
  return {
    uuid: () => v7({ msecs: clock.now() }),
    secret: (bytes) => randomBytes(bytes).toString('base64url'),
  }
}
