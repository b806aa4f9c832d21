import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'

/**
 * A new RSA pair of 2048 bits. It is parsed from PEM: on Node.js 20, the export of a pair as JWK can wait for itself
 * for ever when the garbage collector frees the job that has generated the pair. jose exports keys in this way.
 */
export function rsaPair() {
  const { privateKey: pem } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  return { privateKey: createPrivateKey(pem), publicKey: createPublicKey(pem) }
}
