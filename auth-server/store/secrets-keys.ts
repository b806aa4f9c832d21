import { createHmac } from 'node:crypto'
import { deriveKey } from '../../shared/platform/crypto/derive-key.ts'
import { OperatorError } from '../../shared/platform/operator-error.ts'

/** One key of `SECRETS_KEY`. The key itself is never used: a key for each purpose is derived from it. */
export interface SecretsKey {
  /** Names the key that encrypted or signed something, and reveals nothing of it. */
  readonly id: string
  /** Derives 32 bytes for one purpose (HKDF-SHA256, RFC 5869). */
  derive(purpose: string): Buffer
}

/** The keys of `SECRETS_KEY`: the first one encrypts and signs, all of them decrypt and verify. */
export type SecretsKeys = readonly [SecretsKey, ...SecretsKey[]]

/**
 * Parses `SECRETS_KEY`: keys of 32 bytes as base64url, separated by commas.
 * @throws OperatorError with the expectation, without the value
 */
export function parseSecretsKeys(text: string): SecretsKeys {
  const [first, ...others] = text.split(',').map((part) => secretsKey(part.trim()))
  if (!first) throw new OperatorError('SECRETS_KEY: expected at least one key')
  return [first, ...others]
}

function secretsKey(text: string): SecretsKey {
  const key = Buffer.from(text, 'base64url')
  if (key.length !== 32 || key.toString('base64url') !== text) {
    throw new OperatorError(
      'SECRETS_KEY, or the file secrets-key in DATA_DIR: expected 32 bytes as base64url without padding (43 characters)',
    )
  }
  return {
    id: createHmac('sha256', key).update('keyhold key id').digest('base64url').slice(0, 8),
    derive: (purpose) => deriveKey(key, purpose),
  }
}
