/**
 * Seals what says which part of the audit log is archived: the manifest of each month, and the row of the database that
 * says where the log begins. A seal is a MAC under a key from SECRETS_KEY, so that nobody else can say so.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { SecretsKey, SecretsKeys } from '../store/secrets-keys.ts'

/** Members that are sealed: texts without lone surrogates, and whole numbers. */
export type Sealable = Readonly<Record<string, string | number>>

/** A seal, and the id of the key of SECRETS_KEY that made it. */
export interface Seal {
  readonly keyId: string
  /** HMAC-SHA256, base64url. */
  readonly seal: string
}

/** What is wrong with a seal. */
export type SealFault = 'unknown-key' | 'broken'

/** Seals members for one purpose, such as `head`. */
export const sealWith = (key: SecretsKey, purpose: string, members: Sealable): Seal => ({
  keyId: key.id,
  seal: macOf(key, purpose, members),
})

/** Checks a seal with the key that made it; undefined when it is right. */
export function faultOfSeal(
  keys: SecretsKeys,
  { purpose, members, keyId, seal }: Seal & { readonly purpose: string; readonly members: Sealable },
): SealFault | undefined {
  const key = keys.find(({ id }) => id === keyId)
  if (key === undefined) return 'unknown-key'
  const [right, given] = [Buffer.from(macOf(key, purpose, members)), Buffer.from(seal)]
  return right.length === given.length && timingSafeEqual(right, given) ? undefined : 'broken'
}

/** Over the canonical JSON of the members (RFC 8785): sorted by name. */
function macOf(key: SecretsKey, purpose: string, members: Sealable): string {
  const sorted = Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)))
  return createHmac('sha256', key.derive('audit archive'))
    .update(JSON.stringify([purpose, key.id, sorted]))
    .digest('base64url')
}
