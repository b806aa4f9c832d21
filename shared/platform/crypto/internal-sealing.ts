/**
 * Encrypts secrets between servers that share SERVICE_SECRET, so that they stay secret even where nothing else protects
 * the connection. A sealed text opens only for the purpose that it was sealed for.
 */
import { deriveKey } from './derive-key.ts'
import { seal, unseal } from './seal.ts'

const keyOf = (secret: string): Buffer => deriveKey(secret, 'internal sealing')

/** Seals `text` for `purpose`. The result is base64url. */
export const sealInternally = (text: string, { secret, purpose }: { secret: string; purpose: string }): string =>
  seal(text, { key: keyOf(secret), associatedData: purpose }).toString('base64url')

/**
 * Opens a sealed text. Answers undefined when it was changed, or sealed for another purpose or under none of the
 * `secrets`.
 */
export function openInternally(
  sealed: string,
  { secrets, purpose }: { secrets: readonly string[]; purpose: string },
): string | undefined {
  const bytes = Buffer.from(sealed, 'base64url')
  for (const secret of secrets) {
    const text = unseal(bytes, { key: keyOf(secret), associatedData: purpose })
    if (text !== undefined) return text
  }
  return undefined
}
