import { realm, type SchemeName } from './scheme.ts'
import { isSignatureParameter } from './signature-parameters.ts'

/** The options of a server's app that depend on the enabled schemes. */
export const authenticationOptions = (schemes: readonly SchemeName[]) => ({
  schemes,
  fallbackChallenge: fallbackChallengeOf(schemes),
  isCredentialParameter: isSignatureParameter,
})

/**
 * Default challenge of a 401 whose scheme has none: the first enabled scheme that opens no browser dialog (RFC 9110
 * §15.5.2). Undefined when no such scheme is enabled.
 */
export function fallbackChallengeOf(schemes: readonly SchemeName[]): string | undefined {
  if (schemes.includes('bearer')) return `Bearer realm="${realm}"`
  return schemes.includes('key-signed') ? `KeySigned realm="${realm}"` : undefined
}
