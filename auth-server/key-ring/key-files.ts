/** Writes key files and `keyring.json`: as a whole, synced to the disk, and readable only by their owner. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { calculateJwkThumbprint } from 'jose'
import NodeRSA from 'node-rsa'
import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import { placeOf, syncFolderOf, writeTextWhole } from '../../shared/platform/files/whole-file.ts'
import type { AccessTokenAlg } from '../../shared/protocol/access-token/access-token.ts'
import { type KeyEntry, type KeyRingFile, type KeyUse, keyRingFileName, keySignedAlg } from './keyring-file.ts'

/** The settings for new keys. */
export interface NewKeyOptions {
  /** `KEY_BITS`: 2048, 3072 or 4096. */
  readonly bits: number
  /** `JWT_ALG`: what keys of access tokens are made for; RS256 when it is left out. */
  readonly jwtAlg?: AccessTokenAlg | undefined
  /** `KEYS_PASSPHRASE`: encrypts the files if it is set. */
  readonly passphrase?: string | undefined
  readonly clock: Clock
}

/** Makes a key pair and stores nothing: the entry, in state `pending` and published now, and the PKCS#8 PEM text. */
export async function newKeyPair(
  use: KeyUse,
  { bits, jwtAlg = 'RS256', passphrase, clock }: NewKeyOptions,
): Promise<{ entry: KeyEntry; pem: string }> {
  const alg = use === 'jwt' ? jwtAlg : keySignedAlg
  const privateKey = newPrivateKey(alg, bits)
  const kid = await calculateJwkThumbprint(createPublicKey(privateKey))
  const now = rfc3339(clock.now())
  const entry: KeyEntry = {
    kid,
    use,
    alg,
    state: 'pending',
    createdAt: now,
    publishedAt: now,
    activatedAt: null,
    retiredAt: null,
    removeAt: null,
    revokedAt: null,
    revokedReason: null,
    file: `${use}-${kid}.pem`,
  }
  const form = { type: 'pkcs8', format: 'pem' } as const
  const encryption = { cipher: 'aes-256-cbc', passphrase: passphrase ?? '' }
  const pem = passphrase === undefined ? privateKey.export(form) : privateKey.export({ ...form, ...encryption })
  return { entry, pem: pem.toString() }
}

function newPrivateKey(alg: KeyEntry['alg'], bits: number): KeyObject {
  if (alg === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  if (alg === 'EdDSA') return generateKeyPairSync('ed25519').privateKey
  return createPrivateKey(new NodeRSA().generateKeyPair(bits, 65_537).exportKey('pkcs8-private-pem'))
}

/**
 * Writes a new file that only its owner can read, as a whole or not at all. @throws Error with code EEXIST when it
 * exists
 */
export async function writePrivately(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } catch (error) {
    await rm(path, { force: true })
    throw error
  } finally {
    await file.close()
  }
}

/** The text of `keyring.json`. */
export const keyRingText = (ring: KeyRingFile): string => `${JSON.stringify(ring, null, 2)}\n`

/** Replaces `keyring.json` in one step: a reader sees the former ring or the new one. */
export const replaceKeyRing = (directory: string, ring: KeyRingFile): Promise<void> =>
  replaceFile(join(directory, keyRingFileName), keyRingText(ring))

/** Replaces a file beside the keys, or where a link of its name leads to, in one step. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const place = await placeOf(path)
  await writeTextWhole(place, text, { mode: 0o600, draft: `${place}.new` })
  await syncFolderOf(place)
}
