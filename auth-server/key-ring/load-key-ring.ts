import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign, verify } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { calculateJwkThumbprint, exportJWK, type JWK } from 'jose'
import { type AccessTokenAlg, accessTokenAlgOf } from '../../shared/protocol/access-token/access-token.ts'
import { type KeyEntry, KeyRingError, keyRingFileName, keySignedAlg, parseKeyRingFile } from './keyring-file.ts'

/** A key pair with its entry. Only the public half leaves this process. */
export interface LoadedKey {
  readonly entry: KeyEntry
  readonly publicKey: KeyObject
  /** The public key as JWK: `kty` and the members of its kind (RFC 7518 §6, RFC 8037 §2). */
  readonly jwk: JWK
  readonly privateKey: KeyObject
}

/** The folder of a key ring and the passphrase of its files. */
export interface KeyRingPlace {
  /** `KEYS_DIR`. */
  readonly directory: string
  /** `KEYS_PASSPHRASE`. */
  readonly passphrase?: string | undefined
}

/** The shortest modulus that is accepted, in bits (RFC 7518 §3.3). */
const minModulusBits = 2048

/** Reads the text of `keyring.json`. @throws KeyRingError when it is missing or cannot be read */
export async function readKeyRingText(directory: string): Promise<string> {
  const path = join(directory, keyRingFileName)
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new KeyRingError(`${path} cannot be read (${codeOf(error)}); expected a key ring made by Keyhold`)
  }
}

/**
 * Loads every key of this `keyring.json` except removed keys. @throws KeyRingError for the first key that cannot be
 * used
 */
export function loadKeys(text: string, place: KeyRingPlace): Promise<LoadedKey[]> {
  const { keys } = parseKeyRingFile(text, join(place.directory, keyRingFileName))
  return Promise.all(keys.filter((entry) => entry.state !== 'removed').map((entry) => loadKey(entry, place)))
}

async function loadKey(entry: KeyEntry, place: KeyRingPlace): Promise<LoadedKey> {
  const path = join(place.directory, entry.file)
  const privateKey = readPrivateKey(await readPrivateFile(path), path, place.passphrase)
  const alg = entry.alg === keySignedAlg ? 'RS256' : entry.alg
  if (accessTokenAlgOf(privateKey) !== alg || (alg === 'RS256' && !isStrongRsa(privateKey)))
    throw new KeyRingError(`${path} must be ${kindOfAlg[alg]}`)
  const publicKey = createPublicKey(privateKey)
  const jwk = await exportJWK(publicKey)
  const thumbprint = await calculateJwkThumbprint(jwk)
  if (thumbprint !== entry.kid)
    throw new KeyRingError(`${path} is not the key ${entry.kid} that ${keyRingFileName} names`)
  if (!isPair(privateKey, publicKey))
    throw new KeyRingError(`${path} is damaged: its private key does not sign for ${entry.kid}`)
  return { entry, publicKey, jwk, privateKey }
}

const kindOfAlg: Readonly<Record<AccessTokenAlg, string>> = {
  RS256: `an RSA key of at least ${minModulusBits} bits with exponent 65537`,
  ES256: 'an EC key on the curve P-256',
  EdDSA: 'an Ed25519 key',
}

function isStrongRsa({ asymmetricKeyDetails: { modulusLength = 0, publicExponent } = {} }: KeyObject): boolean {
  return modulusLength >= minModulusBits && publicExponent === 65_537n
}

/**
 * True when both keys belong together. The encryption of PKCS#8 files (PBES2 with AES-CBC: OpenSSL writes no other)
 * does not detect changes, and a signature by a changed private key can reveal the key (Klíma and Rosa, 2002). So no
 * signature by such a key may leave this process.
 */
function isPair(privateKey: KeyObject, publicKey: KeyObject): boolean {
  const probe = randomBytes(32)
  const digest = privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256'
  return verify(digest, probe, publicKey, sign(digest, probe, privateKey))
}

async function readPrivateFile(path: string): Promise<string> {
  let mode: number
  let text: string
  try {
    mode = (await stat(path)).mode
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new KeyRingError(`${path} cannot be read (${codeOf(error)}), and ${keyRingFileName} names it`)
  }
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    throw new KeyRingError(`${path} can be read by others (mode ${(mode & 0o777).toString(8)}); expected 600`)
  }
  return text
}

function readPrivateKey(pem: string, path: string, passphrase: string | undefined): KeyObject {
  const encrypted = pem.includes('ENCRYPTED PRIVATE KEY')
  if (encrypted && passphrase === undefined) throw new KeyRingError(`${path} is encrypted; expected KEYS_PASSPHRASE`)
  try {
    return createPrivateKey(encrypted ? { key: pem, passphrase } : { key: pem })
  } catch {
    const expected = encrypted ? 'that KEYS_PASSPHRASE opens' : 'in PKCS#8 PEM form'
    throw new KeyRingError(`${path} cannot be used; expected a private key ${expected}`)
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown error'
