/**
 * Encrypts what must be recoverable before it goes into the database: AES-256-GCM under `SECRETS_KEY`. What is sealed opens only for
 * the purpose and the row it was sealed for, so that values cannot be exchanged between rows.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { SecretsKeys } from './secrets-keys.ts'

/** Where a sealed value belongs; it opens nowhere else. */
export interface SealedPlace {
  /** What kind of value it is, such as `refresh-token`. */
  readonly purpose: string
  /** The id of its row. */
  readonly row: string
}

/** Seals and opens text. */
export interface Sealing {
  seal(text: string, place: SealedPlace): string
  /**
   * @throws Error when it was changed or sealed for another place; without any of the value
   * @throws Unavailable `secrets-key` when it was sealed under a key that is not in SECRETS_KEY
   */
  open(sealed: string, place: SealedPlace): string
}

const nonceBytes = 12
const tagBytes = 16

/** Sealing under these keys: the first seals, all open. Sealed form: `1.<key id>.<base64url of nonce, ciphertext, tag>`. */
export function createSealing(keys: SecretsKeys): Sealing {
  const sealingKeys = new Map(keys.map((key) => [key.id, key.derive('sealing')]))
  const current = keys[0].id
  return {
    seal(text, place) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', keyOf(current), nonce).setAAD(additionalData(place))
      const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `1.${current}.${sealed.toString('base64url')}`
    },
    open(text, place) {
      const [version, keyId, body, ...rest] = text.split('.')
      if (version !== '1' || keyId === undefined || body === undefined || rest.length > 0) throw cannotOpen(place)
      const sealed = Buffer.from(body, 'base64url')
      if (sealed.length < nonceBytes + tagBytes) throw cannotOpen(place)
      const decipher = createDecipheriv('aes-256-gcm', keyOf(keyId), sealed.subarray(0, nonceBytes), {
        authTagLength: tagBytes,
      })
      decipher.setAAD(additionalData(place)).setAuthTag(sealed.subarray(-tagBytes))
      try {
        return decipher.update(sealed.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
      } catch {
        throw cannotOpen(place)
      }
    },
  }

  function keyOf(id: string): Buffer {
    const key = sealingKeys.get(id)
    if (!key) throw new Unavailable('secrets-key', { cause: new Error(missingKey) })
    return key
  }
}

const missingKey = 'a stored secret was sealed under a key that is not in SECRETS_KEY'

const additionalData = ({ purpose, row }: SealedPlace) => Buffer.from(JSON.stringify(['keyhold', purpose, row]))

const cannotOpen = ({ purpose }: SealedPlace) => new Error(`a stored ${purpose} cannot be opened with SECRETS_KEY`)
