import { createUsedSignatures } from '../../shared/protocol/authentication/signed-request/used-signatures.ts'
import { type AskAtLoginPorts, createAskAtLogin } from './ask-at-login.ts'
import { createChallenges } from './challenges.ts'
import { createOwnFactors } from './own-factors.ts'
import { relyingPartyOf } from './passkeys.ts'

/** The systems and settings that second factors use. */
export interface SecondFactorsPorts extends Omit<AskAtLoginPorts, 'challenges' | 'useSignature' | 'relyingParty'> {
  readonly publicOrigins: { readonly auth: string; readonly deal: string }
}

/** The functions of this folder, wired together. */
export type SecondFactors = ReturnType<typeof createSecondFactors>

/** Creates the second factor of logins, and what users do with their own factors. */
export function createSecondFactors({ publicOrigins, ...given }: SecondFactorsPorts) {
  const challenges = createChallenges(given)
  const useSignature = createUsedSignatures(given, 'auth')
  const ports = { ...given, challenges, useSignature, relyingParty: relyingPartyOf(publicOrigins) }
  return { ...createAskAtLogin(ports), ...createOwnFactors(ports) }
}
