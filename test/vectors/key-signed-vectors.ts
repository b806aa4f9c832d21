import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { KeySignedClaims, TokenPasswordHash } from '../../shared/protocol/key-signed-token/key-signed-payload.ts'

/** The content of a token; octets in hex. */
export type VectorClaims = Omit<KeySignedClaims, 'passwordHash' | 'audience'> & {
  readonly audience: string | null
  readonly passwordHash: (Omit<TokenPasswordHash, 'salt' | 'digest'> & { salt: string; digest: string }) | null
}

/** A token, and what a verifier says of it at this time. */
export type KeySignedVector = { readonly name: string; readonly token: string; readonly now: number } & (
  | {
      readonly outcome: 'accepted' | 'expired'
      readonly payload: string
      readonly claims: VectorClaims
      readonly password?: string
    }
  | { readonly outcome: 'refused'; readonly because: 'text' | 'block' | 'payload' | 'content' }
)

/** The file. `keys` makes it a JWK Set. */
export interface KeySignedVectors {
  readonly about: string
  readonly keys: readonly Readonly<Record<'kty' | 'kid' | 'use' | 'alg' | 'n' | 'e', string>>[]
  readonly publicKeyPem: string
  readonly vectors: readonly KeySignedVector[]
}

/** The vectors as they are kept. */
export const keySignedVectors: KeySignedVectors = JSON.parse(
  readFileSync(join(import.meta.dirname, 'key-signed-tokens.json'), 'utf8'),
)
