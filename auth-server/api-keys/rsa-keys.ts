import { createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { Permits } from '../../shared/platform/concurrency/permits.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'

const smallestBits = 2048
const largestBits = 4096
const publicExponent = 65_537n

/** Node.js also reads other kinds of PEM, for example a private key, of which it takes the public half. */
const publicPem = /^\s*-----BEGIN (RSA )?PUBLIC KEY-----[A-Za-z0-9+/=\s]+-----END (RSA )?PUBLIC KEY-----\s*$/

function readPublicKey(pem: string): KeyObject | undefined {
  try {
    return publicPem.test(pem) ? createPublicKey(pem) : undefined
  } catch {
    return undefined
  }
}

/** The problem of a public key from a client; undefined when there is none. */
export function publicKeyProblem(pem: string): string | undefined {
  const key = readPublicKey(pem)
  if (key?.asymmetricKeyType !== 'rsa') return 'must be the public key of an RSA pair, as PEM'
  const { modulusLength = 0, publicExponent: exponent } = key.asymmetricKeyDetails ?? {}
  if (modulusLength < smallestBits || modulusLength > largestBits) {
    return `must have a modulus of ${smallestBits} to ${largestBits} bits`
  }
  return exponent === publicExponent ? undefined : `must have the public exponent ${publicExponent}`
}

/** The key as SPKI PEM. @throws TypeError for a key with a problem */
export function spkiPemOf(pem: string): string {
  const key = readPublicKey(pem)
  if (!key) throw new TypeError('the public key has been checked before')
  return key.export({ type: 'spki', format: 'pem' }).toString()
}

/** A pair as PEM: PKCS#8 and SPKI. */
export interface RsaPair {
  readonly privateKeyPem: string
  readonly publicKeyPem: string
}

const generate = promisify(generateKeyPair)

/** How many requests for a pair can run or wait at a time. */
const maxPending = 8

/**
 * Makes RSA pairs one at a time outside the event loop, so that other requests do not wait. (node-rsa makes them on the
 * event loop.) @throws Unavailable when too many requests wait
 */
export function createRsaGenerator(): () => Promise<RsaPair> {
  const permits = new Permits(1)
  return async function makePair() {
    if (permits.running + permits.waiting >= maxPending) throw new Unavailable('key-generation')
    const { privateKey, publicKey } = await permits.run(() =>
      generate('rsa', {
        modulusLength: smallestBits,
        publicExponent: Number(publicExponent),
        privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
        publicKeyEncoding: { type: 'spki', format: 'pem' },
      }),
    )
    return { privateKeyPem: privateKey, publicKeyPem: publicKey }
  }
}
