import { realm, type SchemeName } from './scheme.ts'

/**
 * Default challenge of a 401 whose scheme has none: the first enabled scheme that opens no browser dialog (RFC 9110 §15.5.2). Undefined
 * when no such scheme is enabled.
 */
export function fallbackChallengeOf(schemes: readonly SchemeName[]): string | undefined {
  if (schemes.includes('bearer')) return `Bearer realm="${realm}"`
  return schemes.includes('key-signed') ? `KeySigned realm="${realm}"` : undefined
}
