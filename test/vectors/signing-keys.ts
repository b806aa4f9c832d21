/** The keys of the vectors of signed requests, and what these have in common. */
import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SignedRequestVectors, VectorKey } from './signed-request-vectors.ts'

/** The file of the vectors. */
export const file = join(import.meta.dirname, 'signed-requests.json')

/** When the requests are judged, in seconds since the epoch. */
export const now = 1_800_000_000

/** The ids of the keys: one that binds bodies, one that need not, one of kind `rsa`. */
export const hmac = '018f0000-0000-7000-8000-000000000001'
export const plain = '018f0000-0000-7000-8000-000000000002'
export const rsa = '018f0000-0000-7000-8000-000000000003'

/** The keys stay as they are in the file: vectors that others use must not change by being written again. */
function keysOf(): readonly VectorKey[] {
  if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as SignedRequestVectors).keys
  const pair = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  const secretOf = (seed: string) => createHash('sha256').update(seed).digest('base64url')
  return [
    { id: hmac, kind: 'hmac', requireBodyHash: true, secret: secretOf('one') },
    { id: plain, kind: 'hmac', requireBodyHash: false, secret: secretOf('two') },
    { id: rsa, kind: 'rsa', requireBodyHash: true, privateKeyPem: pair.privateKey, publicKeyPem: pair.publicKey },
  ]
}

/** All keys. */
export const keys = keysOf()

/** What this key signs the text with. */
export function signatureOf(keyId: string, text: string): Buffer {
  const key = keys.find(({ id }) => id === keyId)
  if (key?.kind === 'rsa') return sign('sha256', Buffer.from(text), String(key.privateKeyPem))
  return createHmac('sha256', String(key?.secret)).update(text).digest()
}

/** What the requests are about. */
export const list = '/rest/v1/deals'
export const deal = '{"name":"Brücke","price":1234}'
