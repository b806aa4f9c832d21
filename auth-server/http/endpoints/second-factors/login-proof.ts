/** What a client sends to log in: user name and password, or the challenge of an earlier refusal, with a factor. */
import * as z from 'zod'
import { readJson } from '../../../../shared/platform/http/content/json-body.ts'
import { jsonSchemaOf } from '../../../../shared/platform/openapi/json-schema.ts'
import { checkValue } from '../../../../shared/platform/problems/check-value.ts'
import { ProblemError } from '../../../../shared/platform/problems/errors.ts'
import type { BodyReader } from '../../../../shared/server/endpoints/endpoint.ts'
import type { Audiences } from '../../../oauth/audiences.ts'
import type { AskAtLogin, SecondFactorAnswer } from '../../../second-factors/ask-at-login.ts'
import { chosenAudience, resource } from '../../request-parts/resource-member.ts'

const code = z.string().max(100).meta({ description: 'A code of the authenticator app, or a recovery code.' })
const base64url = z.string().max(8_192)

/** An answer of `navigator.credentials.get`, by `toJSON` (WebAuthn Level 3 §5.1). */
const assertion = z.object({
  id: base64url,
  rawId: base64url,
  type: z.literal('public-key'),
  response: z.object({
    clientDataJSON: base64url,
    authenticatorData: base64url,
    signature: base64url,
    userHandle: base64url.nullish(),
  }),
  clientExtensionResults: z.record(z.string(), z.unknown()).default({}),
})

/** By user name and password. */
export const passwordProof = z.strictObject({
  username: z.string(),
  password: z.string(),
  code: code.optional(),
  resource,
})

/** By the challenge of `second-factor-required` or `second-factor-enrolment-required`. */
export const challengeProof = z.strictObject({
  challenge: z.string().max(2_000),
  code: code.optional(),
  passkey: assertion.optional(),
  resource,
})

/** The proof of a user. */
export interface LoginProof {
  /** Empty with a challenge. */
  readonly username: string
  /** Undefined: the challenge stands for it. */
  readonly password: string | undefined
  readonly answer: SecondFactorAnswer
  /** The audience of what is issued; null: that of the pair. */
  readonly audience: string | null
}

/** True for a body that answers a challenge. */
export const answersChallenge = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'challenge' in value

/** The proof in a body. @throws ProblemError `invalid-body`, `invalid-value`; Unavailable */
export async function loginProof(value: unknown, audiences: Audiences): Promise<LoginProof> {
  const { resource: sent, ...proof } = proofIn(value)
  return { ...proof, audience: await chosenAudience(audiences, sent) }
}

function proofIn(value: unknown): Omit<LoginProof, 'audience'> & { readonly resource: string | undefined } {
  if (!answersChallenge(value)) {
    const { code: sent, username, password, resource: target } = checkValue(passwordProof, value)
    return { username, password, answer: { code: sent }, resource: target }
  }
  const { resource: target, ...answer } = checkValue(challengeProof, value)
  if (answer.code === undefined && answer.passkey === undefined) {
    const errors = [{ pointer: '/code', code: 'missing-member', message: 'This member, or passkey, is required.' }]
    throw new ProblemError('invalid-body', '/code: A challenge is answered with a code or a passkey.', {
      members: { errors },
    })
  }
  return { username: '', password: undefined, answer, resource: target }
}

/** The user name as sent, or that in the challenge; undefined without both. */
export const accountNameOf = (
  { username, answer: { challenge } }: Pick<LoginProof, 'username' | 'answer'>,
  { usernameOf }: AskAtLogin,
): string | undefined => (challenge === undefined ? username : usernameOf(challenge))

/** A JSON body with a proof. */
export const loginProofBody = (audiences: Audiences): BodyReader<LoginProof> => ({
  read: async (request) => loginProof(await readJson(request), audiences),
  describe: () => ({ schema: jsonSchemaOf(z.union([passwordProof, challengeProof])), required: true }),
})

/** The problem codes of a login that wants a second factor. */
export const factorProblems: readonly string[] = [
  'second-factor-required',
  'second-factor-enrolment-required',
  'invalid-second-factor',
]
