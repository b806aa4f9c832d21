import { realm, type SchemeName } from './scheme.ts'

/**
 * What a 401 carries where the credential's own scheme has no challenge, or only one for which browsers would show the user of a script
 * their dialog: some challenge there must be (RFC 9110 §15.5.2). The first of these schemes that browsers take no notice of; undefined when
 * none is.
 */
export function quietChallengeOf(schemes: readonly SchemeName[]): string | undefined {
  if (schemes.includes('bearer')) return `Bearer realm="${realm}"`
  return schemes.includes('key-signed') ? `KeySigned realm="${realm}"` : undefined
}
