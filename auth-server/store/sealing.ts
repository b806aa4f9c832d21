/**
 * Encrypts secrets that must be recoverable before they go into the database: AES-256-GCM with `SECRETS_KEY`. A
 * ciphertext can be decrypted only with its own purpose and row as associated data (RFC 5116), so values cannot be
 * exchanged between rows.
 */
import { seal, unseal } from '../../shared/platform/crypto/seal.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { SecretsKeys } from './secrets-keys.ts'

/** The associated data of a ciphertext. Only the same purpose and row decrypt it. */
export interface AssociatedData {
  /** The kind of value, such as `refresh-token`. */
  readonly purpose: string
  /** The id of its row. */
  readonly row: string
}

/** Encrypts and decrypts text. */
export type Sealing = ReturnType<typeof createSealing>

/**
 * Creates encryption with these keys: the first encrypts, all decrypt. Form: `1.<key id>.<base64url of nonce,
 * ciphertext, tag>`.
 */
export function createSealing(keys: SecretsKeys) {
  const sealingKeys = new Map(keys.map((key) => [key.id, key.derive('sealing')]))
  const current = keys[0].id
  return {
    /** Encrypts a text with the first key. */
    seal(text: string, place: AssociatedData): string {
      const sealed = seal(text, { key: keyOf(current), associatedData: associatedData(place) })
      return `1.${current}.${sealed.toString('base64url')}`
    },
    /**
     * Decrypts a ciphertext.
     * @throws Error when it was changed or belongs to another purpose or row; the message has nothing of the value
     * @throws Unavailable `secrets-key` when its key is not in SECRETS_KEY
     */
    open(text: string, place: AssociatedData): string {
      const [version, keyId, body, ...rest] = text.split('.')
      if (version !== '1' || keyId === undefined || body === undefined || rest.length > 0) throw cannotOpen(place)
      const opened = unseal(Buffer.from(body, 'base64url'), {
        key: keyOf(keyId),
        associatedData: associatedData(place),
      })
      if (opened === undefined) throw cannotOpen(place)
      return opened
    },
  }

  function keyOf(id: string): Buffer {
    const key = sealingKeys.get(id)
    if (!key) throw new Unavailable('secrets-key', { cause: new Error(missingKey) })
    return key
  }
}

const missingKey = 'a stored secret was sealed under a key that is not in SECRETS_KEY'

const associatedData = ({ purpose, row }: AssociatedData): string => JSON.stringify(['keyhold', purpose, row])

const cannotOpen = ({ purpose }: AssociatedData) => new Error(`a stored ${purpose} cannot be opened with SECRETS_KEY`)
