import { fallbackChallengeOf } from './fallback-challenge.ts'
import type { SchemeName } from './scheme.ts'
import { isSignatureParameter } from './signature-parameters.ts'

/** What the app of a server that serves these schemes must know of them. */
export const authenticationOptions = (schemes: readonly SchemeName[]) => ({
  schemes,
  fallbackChallenge: fallbackChallengeOf(schemes),
  isCredentialParameter: isSignatureParameter,
})
