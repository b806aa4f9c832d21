import { createPrivateKey, createPublicKey } from 'node:crypto'
import { link, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { calculateJwkThumbprint } from 'jose'
import NodeRSA from 'node-rsa'
import { type Clock, rfc3339 } from '../../shared/clock.ts'
import { algOfUse, type KeyEntry, type KeyRingFile, type KeyUse, keyRingFileName, keyUses } from './keyring-file.ts'

/** How new keys are made. */
export interface CreateKeyRingOptions {
  /** `KEY_BITS`: 2048, 3072 or 4096. */
  readonly bits: number
  /** `KEYS_PASSPHRASE`: encrypts the files when given. */
  readonly passphrase?: string | undefined
  readonly clock: Clock
}

/**
 * Writes a first key ring with one active key for each use into `directory`, which is made when it is missing; false when there
 * already is a `keyring.json`, whatever is in it. Appears as a whole: of two processes that start at once, one writes the ring
 * and both find it.
 */
export async function createKeyRing(directory: string, options: CreateKeyRingOptions): Promise<boolean> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const target = join(directory, keyRingFileName)
  if (await exists(target)) return false
  const pairs = await Promise.all(keyUses.map((use) => newKeyPair(use, options)))
  for (const { entry, pem } of pairs) await writePrivately(join(directory, entry.file), pem)

  const ring: KeyRingFile = { keyholdKeyRing: 1, keys: pairs.map(({ entry }) => entry) }
  const draft = join(directory, `${keyRingFileName}.${pairs[0]?.entry.kid}.new`)
  await writePrivately(draft, `${JSON.stringify(ring, null, 2)}\n`)
  try {
    await link(draft, target)
    return true
  } catch (error) {
    if (!isExists(error)) throw error
    await Promise.all(pairs.map(({ entry }) => rm(join(directory, entry.file), { force: true })))
    return false
  } finally {
    await rm(draft, { force: true })
  }
}

/** A new key pair: its entry, in state `active`, and its PKCS#8 PEM text. */
async function newKeyPair(use: KeyUse, { bits, passphrase, clock }: CreateKeyRingOptions) {
  const privateKey = createPrivateKey(new NodeRSA().generateKeyPair(bits, 65_537).exportKey('pkcs8-private-pem'))
  const kid = await calculateJwkThumbprint(createPublicKey(privateKey).export({ format: 'jwk' }))
  const now = rfc3339(clock.now())
  const entry: KeyEntry = {
    kid,
    use,
    alg: algOfUse[use],
    state: 'active',
    createdAt: now,
    publishedAt: now,
    activatedAt: now,
    retiredAt: null,
    removeAt: null,
    file: `${use}-${kid}.pem`,
  }
  const form = { type: 'pkcs8', format: 'pem' } as const
  const encryption = { cipher: 'aes-256-cbc', passphrase: passphrase ?? '' }
  const pem = passphrase === undefined ? privateKey.export(form) : privateKey.export({ ...form, ...encryption })
  return { entry, pem: pem.toString() }
}

/** Writes a new file that only its owner can read, down to the disk. */
async function writePrivately(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await (await open(path, 'r')).close()
    return true
  } catch (error) {
    if (isCode(error, 'ENOENT')) return false
    throw error
  }
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

const isExists = (error: unknown): boolean => isCode(error, 'EEXIST')
