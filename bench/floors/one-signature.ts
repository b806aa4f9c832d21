import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { Subject } from '../runner/compare.ts'
import { repeated } from './repeated.ts'

const privateKeyOf: Readonly<Record<string, () => KeyObject>> = {
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
  EdDSA: () => generateKeyPairSync('ed25519').privateKey,
}

/** The floor of everything that issues a token: a signature, one after the other on one thread. */
export function oneSignature({ jwtAlg }: { readonly jwtAlg: string }): Subject {
  const key = privateKeyOf[jwtAlg]?.()
  if (!key) throw new RangeError(`There is no floor for ${jwtAlg}.`)
  const payload = Buffer.alloc(400, 'x')
  const digest = jwtAlg === 'EdDSA' ? null : 'sha256'
  return repeated(`one ${jwtAlg} signature`, () => sign(digest, payload, { key, dsaEncoding: 'ieee-p1363' }))
}
