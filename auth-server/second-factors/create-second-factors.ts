import { createUsedSignatures } from '../../shared/protocol/authentication/signed-request/used-signatures.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import { createAskAtLogin } from './ask-at-login.ts'
import { createChallenges } from './challenges.ts'
import { createOwnFactors } from './own-factors.ts'
import { relyingPartyOf } from './passkeys.ts'

/** The functions of this folder, wired together. */
export type SecondFactors = ReturnType<typeof createSecondFactors>

/** Creates the second factor of logins, and what users do with their own factors. */
export function createSecondFactors(given: AuthSystems) {
  const challenges = createChallenges(given)
  const useSignature = createUsedSignatures(given, 'auth')
  const systems = { ...given, challenges, useSignature, relyingParty: relyingPartyOf(given.publicOrigins) }
  return { ...createAskAtLogin(systems), ...createOwnFactors(systems) }
}
