import { fallbackChallengeOf } from './fallback-challenge.ts'
import type { SchemeName } from './scheme.ts'
import { isSignatureParameter } from './signature-parameters.ts'

/** The options of a server's app that depend on the enabled schemes. */
export const authenticationOptions = (schemes: readonly SchemeName[]) => ({
  schemes,
  fallbackChallenge: fallbackChallengeOf(schemes),
  isCredentialParameter: isSignatureParameter,
})
