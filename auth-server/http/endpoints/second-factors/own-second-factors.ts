/** /me/second-factors: the factors of the caller's own account (docs/contract/logins.md#second-factor). */
import * as z from 'zod'
import { rfc3339 } from '../../../../shared/platform/clock.ts'
import type { HttpRequest } from '../../../../shared/platform/http/request.ts'
import type { Caller } from '../../../../shared/protocol/authentication/authenticate.ts'
import { component, defineEndpoint, jsonBody, time } from '../../../../shared/server/endpoints/endpoint.ts'
import type { FactorState } from '../../../second-factors/factor-state.ts'
import { loginOf } from '../../request-parts/login-of-caller.ts'
import { proofOf, proofProblems, proofSchema } from '../../request-parts/recent-proof-members.ts'
import type { AuthServices } from '../../services/auth-services.ts'
import { confirmPasskeyBody, confirmTotpBody } from './set-up-bodies.ts'

const factor = z.object({
  id: z.string().meta({ format: 'uuid' }),
  kind: z.enum(['totp', 'passkey']),
  name: z.string(),
  createdAt: time,
  lastUsedAt: time.nullable(),
})

const factorsComponent = component(
  'SecondFactors',
  z.object({
    required: z.boolean().meta({ description: 'A login of this user needs a second factor.' }),
    factors: z.array(factor).meta({ description: 'The oldest first.' }),
    recoveryCodes: z.number().int().meta({ description: 'How many recovery codes are left.' }),
  }),
)

const represent = ({ required, factors, recoveryCodes }: FactorState) => ({
  required,
  factors: factors.map(({ id, kind, name, createdAt, lastUsedAt }) => ({
    id,
    kind,
    name,
    createdAt: rfc3339(createdAt),
    lastUsedAt: lastUsedAt === null ? null : rfc3339(lastUsedAt),
  })),
  recoveryCodes,
})

const challenge = z.string().meta({ description: 'To be sent with the answer, within five minutes.' })
const proof = jsonBody(proofSchema, { required: false })
const withProof = 'Needs your password or a login younger than five minutes.'

/** Common members of all endpoints. */
const own = { tag: 'users', right: 'own-account' } as const

const added = {
  status: 201,
  success: { description: 'The factor is set up.' },
  response: factorsComponent,
  problems: ['second-factor-not-confirmed', 'too-many-second-factors', 'too-many-attempts'],
} as const

const audited =
  (action: string) =>
  ({ caller }: { readonly caller: Caller }) => ({ action: `second-factor.${action}`, target: caller.username })

const ownerOf = (caller: Caller) => ({ userId: caller.userId, username: caller.username, login: loginOf(caller) })

const prove = (
  { requireRecentProof }: AuthServices,
  { request, caller, body }: { request: HttpRequest; caller: Caller; body: z.output<typeof proofSchema> },
) => requireRecentProof(caller, proofOf(request, body))

/** Creates the endpoints. */
export const ownSecondFactorsEndpoints = (services: AuthServices) => [
  defineEndpoint({
    ...own,
    method: 'GET',
    path: '/me/second-factors',
    id: 'getOwnSecondFactors',
    summary: "Read one's own second factors",
    description: 'What is set up, without any secret.',
    success: { description: 'The factors.' },
    response: factorsComponent,
    handle: async ({ caller }) => ({ body: represent(await services.secondFactors.read(ownerOf(caller))) }),
  }),
  defineEndpoint({
    ...own,
    method: 'POST',
    path: '/me/second-factors/totp',
    id: 'beginTotp',
    summary: 'Begin to set one-time codes up',
    description: `Gives a new secret for an authenticator app (RFC 6238). Nothing is stored before the first code. ${withProof}`,
    body: proof,
    success: { description: 'The secret, shown only now.' },
    response: component(
      'TotpSetUp',
      z.object({
        secret: z.string().meta({ description: 'Base32.' }),
        uri: z.string().meta({ description: '`otpauth:`, for a QR code.' }),
        challenge,
      }),
    ),
    problems: proofProblems,
    handle: async (input) => {
      await prove(services, input)
      return { body: services.secondFactors.beginTotp(ownerOf(input.caller)) }
    },
  }),
  defineEndpoint({
    ...own,
    ...added,
    method: 'POST',
    path: '/me/second-factors/totp/confirm',
    id: 'confirmTotp',
    summary: 'End the set-up of one-time codes with a first code',
    description: 'Codes that were set up before no longer work. The first factor of a user ends the other logins.',
    body: confirmTotpBody,
    audit: audited('added'),
    handle: async ({ caller, body }) => ({
      body: represent(await services.secondFactors.confirmTotp(ownerOf(caller), body)),
    }),
  }),
  defineEndpoint({
    ...own,
    method: 'POST',
    path: '/me/second-factors/passkeys/options',
    id: 'beginPasskey',
    summary: 'Begin to set a passkey up',
    description: `Gives options for \`PublicKeyCredential.parseCreationOptionsFromJSON\`. Nothing is stored. ${withProof}`,
    body: proof,
    success: { description: 'The options.' },
    response: component(
      'PasskeySetUp',
      z.object({
        publicKey: z.record(z.string(), z.unknown()).meta({ description: 'WebAuthn Level 3 §5.1.8.' }),
        challenge,
      }),
    ),
    problems: proofProblems,
    handle: async (input) => {
      await prove(services, input)
      const { publicKey, challenge: sealed } = await services.secondFactors.beginPasskey(ownerOf(input.caller))
      return { body: { publicKey: { ...publicKey }, challenge: sealed } }
    },
  }),
  defineEndpoint({
    ...own,
    ...added,
    method: 'POST',
    path: '/me/second-factors/passkeys',
    id: 'createPasskey',
    summary: 'End the set-up of a passkey with the answer of the browser',
    description: 'A user may have several. The first factor of a user ends the other logins.',
    body: confirmPasskeyBody,
    audit: audited('added'),
    handle: async ({ caller, body }) => ({
      body: represent(await services.secondFactors.confirmPasskey(ownerOf(caller), body)),
    }),
  }),
  defineEndpoint({
    ...own,
    method: 'DELETE',
    path: '/me/second-factors/enrolled/:id',
    id: 'deleteOwnSecondFactor',
    summary: "Remove one of one's own second factors",
    description: `With the last one, the recovery codes go too. ${withProof}`,
    body: proof,
    success: { description: 'It is removed.' },
    problems: [...proofProblems, 'not-found'],
    audit: audited('removed'),
    handle: async (input) => {
      await prove(services, input)
      await services.secondFactors.remove(ownerOf(input.caller), input.path.id)
    },
  }),
  defineEndpoint({
    ...own,
    method: 'POST',
    path: '/me/second-factors/recovery-codes',
    id: 'createRecoveryCodes',
    summary: 'Make new recovery codes',
    description: `Ten, shown only now, each good for one login. Those before no longer work. ${withProof}`,
    body: proof,
    status: 201,
    success: { description: 'The codes.' },
    response: component('RecoveryCodes', z.object({ codes: z.array(z.string()) })),
    problems: [...proofProblems, 'second-factor-missing'],
    audit: audited('recovery-codes-made'),
    handle: async (input) => {
      await prove(services, input)
      return { body: { codes: await services.secondFactors.renewRecoveryCodes(ownerOf(input.caller)) } }
    },
  }),
]
