/**
 * The second factor of a login: who must give one, and whether the answer is right
 * (docs/contract/logins.md#second-factor).
 */
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { UseSignature } from '../../shared/protocol/authentication/signed-request/used-signatures.ts'
import { whenPublished } from '../principals/principal-publisher.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import { type Challenge, type Challenges, isOfPassword, passwordMark } from './challenges.ts'
import { addFactor, type NewFactor } from './change-factors.ts'
import {
  type FactorState,
  factorState,
  type StoredFactor,
  totpSecretData,
  useSignature,
  useStep,
} from './factor-state.ts'
import { type Passkey, type RelyingParty, requestOptions, usedPasskey } from './passkeys.ts'
import { useRecoveryCode } from './recovery-codes.ts'
import { isTotpCode, newTotpSecret, totpStep, totpUri } from './totp.ts'
import { boundTries } from './tries.ts'

/** A user whose password was just checked. */
export interface PasswordHolder {
  readonly userId: string
  readonly username: string
  /** The stored hash that the password matched. The check is valid as long as this hash is stored. */
  readonly passwordHash: string
  /** The user's principal version at the time of the check. */
  readonly version: number
}

/** The part of a login request about the second factor. Every member is as sent. */
export interface SecondFactorAnswer {
  /** The challenge of an earlier refusal. It stands for the password, which was right then. */
  readonly challenge?: string | undefined
  /** A one-time code or a recovery code. */
  readonly code?: string | undefined
  /** An answer of `navigator.credentials.get`, as JSON. */
  readonly passkey?: unknown
}

/** The proof at one login. */
export interface FactorRequest {
  readonly answer: SecondFactorAnswer
  readonly clientAddress: string
}

/** The second factor of logins. */
export type AskAtLogin = ReturnType<typeof createAskAtLogin>

/** What the functions of this folder work with. */
export interface FactorSystems extends AuthSystems {
  readonly challenges: Challenges
  readonly useSignature: UseSignature
  readonly relyingParty: RelyingParty
}

/** Creates the second factor of logins over these systems. Every asynchronous function throws Unavailable. */
export function createAskAtLogin(systems: FactorSystems) {
  const { challenges, database } = systems
  const opened = (text: string) => challenges.open('login', text) ?? challenges.open('enrol', text)
  return {
    /** True when a login of this user needs a factor. */
    isRequired: async (userId: string) => (await factorState(database, userId))?.required ?? false,
    /** The user name in a challenge, for the audit log; undefined when it is no user name. */
    usernameOf: (challenge: string) => opened(challenge)?.username,
    /** The user that a challenge was made for, if it is still good for a login. */
    async resume(text: string): Promise<PasswordHolder | undefined> {
      const challenge = opened(text)
      const state = challenge && (await factorState(database, challenge.userId))
      if (!challenge || !state?.passwordHash || !isOfPassword(challenge, state.passwordHash)) return undefined
      return state.generation === challenge.generation ? state : undefined
    },
    /**
     * The RFC 8176 value of the factor that was given; null when this user needs none. Undefined when the user was
     * changed since the password was proved.
     * @throws ProblemError `second-factor-required`, `second-factor-enrolment-required`, `invalid-second-factor`,
     *   `too-many-attempts`
     */
    async require(holder: PasswordHolder, request: FactorRequest): Promise<string | null | undefined> {
      const state = await factorState(database, holder.userId)
      if (state?.passwordHash !== holder.passwordHash) return undefined
      if (!state.required) return null
      return state.factors.length === 0 ? enrol(systems, state, request) : check(systems, state, request)
    },
    /**
     * True for a right one-time code or recovery code of this user, which is used then. A wrong one counts, as at a
     * login. @throws ProblemError `too-many-attempts`
     */
    async isRightFactor(userId: string, request: FactorRequest): Promise<boolean> {
      const state = await factorState(database, userId)
      return state !== undefined && (await attempt(systems, state, request)) !== undefined
    },
  }
}

async function check(systems: FactorSystems, state: FactorState, request: FactorRequest): Promise<string> {
  const { answer } = request
  if (answer.code === undefined && answer.passkey === undefined) throw await required(systems, state)
  const used = await attempt(systems, state, request)
  if (used === undefined) throw invalidFactor()
  return used
}

/** Checks the answer; undefined for a wrong one, which counts for the login throttle as a wrong password does. */
async function attempt(systems: FactorSystems, state: FactorState, { answer, clientAddress }: FactorRequest) {
  const who = { account: state.username, address: clientAddress }
  return systems.loginThrottle.attempt(who, () => useFactor(systems, state, answer))
}

/** The refusal of a factor that is not right, or of a challenge that is over. */
export const invalidFactor = () =>
  new ProblemError('invalid-second-factor', 'The code or the passkey is not right, was used before, or came too late.')

async function useFactor(systems: FactorSystems, state: FactorState, answer: SecondFactorAnswer) {
  if (answer.passkey !== undefined) return usePasskey(systems, state, answer)
  const code = (answer.code ?? '').replace(/\s/g, '')
  if (!isTotpCode(code)) {
    return (await useRecoveryCode(systems.database, state, code)) ? 'otp' : undefined
  }
  const totp = state.factors.find(({ kind }) => kind === 'totp')
  return totp && boundTries(systems, state.userId, () => useCode(systems, totp, code))
}

async function useCode(systems: FactorSystems, { id, secretSealed }: StoredFactor, code: string) {
  const now = systems.clock.now()
  const step = totpStep(systems.sealing.open(secretSealed ?? '', totpSecretData(id)), code, now)
  return step !== undefined && (await useStep(systems.database, { id, step, now })) ? 'otp' : undefined
}

/** One challenge takes one answer: an authenticator without a counter could not tell a repeated answer. */
async function usePasskey(systems: FactorSystems, { userId, factors }: FactorState, answer: SecondFactorAnswer) {
  const challenge = systems.challenges.open('login', answer.challenge ?? '')
  const stored = factors.find(({ credentialId }) => credentialId !== null && credentialId === idOf(answer.passkey))
  if (!challenge?.webauthn || challenge.userId !== userId || !stored) return undefined
  const used = await usedPasskey(systems.relyingParty, answer.passkey, {
    challenge: challenge.webauthn,
    passkey: passkeyOf(stored),
  })
  if (!used) return undefined
  const { id, expiresAt } = challenge
  const before = await systems.useSignature({ keyId: 'second-factor', digest: id, expiresAt })
  const { signatures, method } = used
  const now = systems.clock.now()
  const isNew = before === undefined && (await useSignature(systems.database, { id: stored.id, signatures, now }))
  return isNew ? method : undefined
}

const idOf = (passkey: unknown): unknown =>
  typeof passkey === 'object' && passkey !== null && 'id' in passkey ? passkey.id : undefined

/** The passkey in a stored factor. */
export const passkeyOf = ({ credentialId, publicKey, signatures, transports }: StoredFactor): Passkey => ({
  credentialId: credentialId ?? '',
  publicKey: publicKey ?? '',
  signatures: signatures ?? 0,
  transports: transports ?? [],
})

async function required(systems: FactorSystems, state: FactorState): Promise<ProblemError> {
  const passkeys = state.factors.filter(({ kind }) => kind === 'passkey').map(passkeyOf)
  const webauthn = passkeys.length > 0 ? systems.ids.secret(32) : undefined
  const challenge = systems.challenges.seal('login', { ...contentOf(systems, state), webauthn })
  const methods = [
    ...(state.factors.some(({ kind }) => kind === 'totp') ? ['totp'] : []),
    ...(passkeys.length > 0 ? ['passkey'] : []),
    ...(state.recoveryCodes > 0 ? ['recovery-code'] : []),
  ]
  const publicKey = webauthn && (await requestOptions(systems.relyingParty, passkeys, webauthn))
  return new ProblemError(
    'second-factor-required',
    'The password is right. Send the second factor with the challenge.',
    {
      members: { methods, challenge, ...(publicKey && { publicKey }) },
    },
  )
}

const contentOf = ({ ids }: FactorSystems, state: FactorState): Omit<Challenge, 'expiresAt'> => ({
  id: ids.uuid(),
  userId: state.userId,
  username: state.username,
  password: passwordMark(state.passwordHash),
  generation: state.generation,
})

/**
 * The first factor of a user whose role demands one: one-time codes, whose secret is in the challenge. So a form
 * without a script can set them up, and nothing is stored before the first right code.
 */
async function enrol(systems: FactorSystems, state: FactorState, request: FactorRequest): Promise<string> {
  const { code, challenge: text } = request.answer
  const challenge = text === undefined ? undefined : systems.challenges.open('enrol', text)
  if (code === undefined || !challenge?.totp || challenge.userId !== state.userId) throw toEnrol(systems, state)
  const { totp } = challenge
  const { userId, username } = state
  const attempt = { account: username, address: request.clientAddress }
  const step = await systems.loginThrottle.attempt(attempt, () =>
    boundTries(systems, userId, async () => totpStep(totp, code.replace(/\s/g, ''), systems.clock.now())),
  )
  if (step === undefined) throw invalidFactor()
  const owner = { userId, username, login: null }
  const factor = newTotp(systems, { userId, secret: totp, step, name: defaultTotpName })
  await whenPublished(systems.publisher, addFactor(systems, owner, { factor, method: 'otp', onlyFirst: true }))
  return 'otp'
}

function toEnrol(systems: FactorSystems, state: FactorState): ProblemError {
  const secret = newTotpSecret()
  const challenge = systems.challenges.seal('enrol', { ...contentOf(systems, state), totp: secret })
  const uri = totpUri(secret, { issuer: 'Keyhold', username: state.username })
  return new ProblemError(
    'second-factor-enrolment-required',
    'The password is right. This user needs a second factor: put the secret into an authenticator app, and send its code.',
    { members: { challenge, totp: { secret, uri } } },
  )
}

/** The name of one-time codes that the user did not name. */
export const defaultTotpName = 'Authenticator app'

/** The row of new one-time codes. The code of `step` is used. */
export function newTotp(
  { ids, sealing, clock }: FactorSystems,
  { userId, secret, step, name }: { userId: string; secret: string; step: number; name: string },
): NewFactor {
  const id = ids.uuid()
  const at = new Date(clock.now())
  const secretSealed = sealing.seal(secret, totpSecretData(id))
  return { id, userId, kind: 'totp', name, secretSealed, usedStep: step, createdAt: at, lastUsedAt: at }
}
