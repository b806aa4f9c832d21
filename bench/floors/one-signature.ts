import { generateKeyPairSync, sign } from 'node:crypto'
import { repeated } from '../in-process/repeated.ts'
import type { Subject } from '../runner/compare.ts'

/** The floor of everything that issues a token: an RS256 signature, one after the other on one thread. */
export function oneSignature(): Subject {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const payload = Buffer.alloc(400, 'x')
  return repeated('one RS256 signature', () => sign('RSA-SHA256', payload, privateKey))
}
