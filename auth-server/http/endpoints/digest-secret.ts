/** PUT /users/{username}/digest-secret: a secret for HTTP Digest, shown once (docs/contract/accounts.md#users). */
import * as z from 'zod'
import { realm } from '../../../shared/protocol/authentication/scheme.ts'
import { component, defineEndpoint, jsonBody } from '../../../shared/server/endpoints/endpoint.ts'
import { proofOf, proofProblems, proofSchema } from '../request-parts/recent-proof-members.ts'
import type { AuthServices } from '../services/auth-services.ts'

const response = component(
  'DigestSecret',
  z.object({
    username: z.string().meta({ description: 'To be spelt exactly so.' }),
    realm: z.string(),
    secret: z.string(),
  }),
)

/** PUT /users/{username}/digest-secret. */
export const digestSecretEndpoint = ({ digestSecrets, requireRecentProof }: AuthServices) =>
  defineEndpoint({
    method: 'PUT',
    path: '/users/:username/digest-secret',
    id: 'putDigestSecret',
    summary: "Make one's own secret for HTTP Digest, or with the right to, another user's",
    description:
      'Generated, shown only now; the one before no longer works. ' +
      'Needs your password or a login younger than five minutes; for another user every right of that user.',
    tag: 'users',
    body: jsonBody(proofSchema, { required: false }),
    right: 'user.manage',
    account: ({ path }) => path.username,
    success: { description: 'The secret.' },
    response,
    problems: [...proofProblems, 'not-found', 'reserved-user'],
    audit: ({ path }) => ({ action: 'user.digest-secret-made', target: path.username }),
    handle: async ({ request, caller, path, body }) => {
      await requireRecentProof(caller, proofOf(request, body))
      const { username, secret } = await digestSecrets.renewFor(path.username, caller)
      return { body: { username, realm, secret } }
    },
  })
