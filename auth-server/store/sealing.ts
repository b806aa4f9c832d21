/**
 * Encrypts what must be recoverable before it goes into the database: AES-256-GCM under `SECRETS_KEY`. What is sealed opens only for
 * the purpose and the row it was sealed for, so that values cannot be exchanged between rows.
 */
import { seal, unseal } from '../../shared/platform/crypto/seal.ts'
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

/** Sealing under these keys: the first seals, all open. Sealed form: `1.<key id>.<base64url of nonce, ciphertext, tag>`. */
export function createSealing(keys: SecretsKeys): Sealing {
  const sealingKeys = new Map(keys.map((key) => [key.id, key.derive('sealing')]))
  const current = keys[0].id
  return {
    seal(text, place) {
      const sealed = seal(text, { key: keyOf(current), associatedData: associatedData(place) })
      return `1.${current}.${sealed.toString('base64url')}`
    },
    open(text, place) {
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

const associatedData = ({ purpose, row }: SealedPlace): string => JSON.stringify(['keyhold', purpose, row])

const cannotOpen = ({ purpose }: SealedPlace) => new Error(`a stored ${purpose} cannot be opened with SECRETS_KEY`)
