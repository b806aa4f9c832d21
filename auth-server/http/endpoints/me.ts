/** GET /me: the caller, with its roles and rights. */
import * as z from 'zod'
import { rfc3339 } from '../../../shared/platform/clock.ts'
import { loginMethods } from '../../../shared/protocol/access-token/access-token.ts'
import { actsForItsUser } from '../../../shared/protocol/authentication/own-account.ts'
import type { SchemeName, VerifiedCredential } from '../../../shared/protocol/authentication/scheme.ts'
import { component, defineEndpoint, time } from '../../../shared/server/endpoints/endpoint.ts'
import type { OwnFactors } from '../../second-factors/own-factors.ts'
import type { AuthServices } from '../services/auth-services.ts'

const response = component(
  'Me',
  z.object({
    username: z.string(),
    displayName: z.string().optional(),
    email: z.string().optional().meta({ description: 'Left out, as the name is, where there is none.' }),
    emailVerified: z.boolean().optional(),
    roles: z.array(z.string()),
    rights: z.array(z.string()).meta({ description: 'Those of the roles and the direct ones together.' }),
    scheme: z.string(),
    expiresAt: time.nullable(),
    amr: z.array(z.string()).meta({
      description: 'How the user of a login was authenticated (RFC 8176): `pwd`, and with a second factor `mfa`.',
    }),
  }),
)

/** GET /me. */
export const meEndpoint = ({ secondFactors, users }: AuthServices) =>
  defineEndpoint({
    method: 'GET',
    path: '/me',
    id: 'getMe',
    summary: 'Read who the caller is',
    description: 'The name, the rights in force, and by which scheme and credential the caller came.',
    tag: 'users',
    success: { description: 'The caller.' },
    response,
    handle: async ({ caller: { username, userId, roles, rights, scheme, credential } }) => {
      const { expiresAt } = credential
      // Who has a part of the rights alone is not handed a person's address.
      const profile = actsForItsUser({ credential }) ? await users.profile(userId) : undefined
      return {
        body: {
          username,
          ...(profile?.displayName && { displayName: profile.displayName }),
          ...(profile?.email && { email: profile.email, emailVerified: profile.emailVerified }),
          roles: [...roles],
          rights: [...rights],
          scheme,
          expiresAt: expiresAt === undefined ? null : rfc3339(expiresAt),
          amr: await methodsOf(credential, scheme, secondFactors),
        },
      }
    },
  })

/** An access token has them. Empty for API keys and Digest secrets, which prove no person. */
async function methodsOf(
  { loginId, amr = [] }: VerifiedCredential,
  scheme: SchemeName,
  { methodOf }: OwnFactors,
): Promise<string[]> {
  if (scheme === 'basic' || scheme === 'key-signed') return ['pwd']
  if (scheme !== 'session' || loginId === undefined) return [...amr]
  const method = await methodOf(loginId)
  return method === undefined ? [] : [...loginMethods(method)]
}
