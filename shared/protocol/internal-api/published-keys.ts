/**
 * Which keys are published, in a few characters: auth servers say it with every message of the principal feed and every
 * answer at `/internal`, so that a deal server whose own set differs reloads it at once. That is how a revoked key
 * dies within a second.
 */
import { createHash } from 'node:crypto'

/** The key documents, by what their keys are for. */
export const keyDocuments = {
  jwt: '/.well-known/jwks.json',
  'key-signed': '/.well-known/key-signed-keys.json',
} as const

/** The digest of a key document: of its kids, which are thumbprints of the keys. */
export const keySetDigest = (kids: readonly string[]): string =>
  createHash('sha256').update(kids.toSorted().join(' ')).digest('base64url').slice(0, 22)

/** The digests of both documents as one value. */
export const joinDigests = (jwt: string, keySigned: string): string => `${jwt}.${keySigned}`

/** The digests in such a value. */
export function splitDigests(joined: string): { readonly jwt: string; readonly keySigned: string } {
  const [jwt = '', keySigned = ''] = joined.split('.')
  return { jwt, keySigned }
}
