/** DELETE /users/{username}/second-factors: for a user who has lost them (docs/contract/logins.md#second-factor). */

import { defineEndpoint, jsonBody } from '../../../../shared/server/endpoints/endpoint.ts'
import { proofOf, proofProblems, proofSchema } from '../../request-parts/recent-proof-members.ts'
import type { AuthServices } from '../../services/auth-services.ts'

/** DELETE /users/{username}/second-factors. */
export const resetSecondFactorsEndpoint = ({ secondFactors, requireRecentProof }: AuthServices) =>
  defineEndpoint({
    method: 'DELETE',
    path: '/users/:username/second-factors',
    id: 'resetSecondFactors',
    summary: "Remove another user's second factors and recovery codes",
    description:
      "For a user who has lost them. Ends that user's logins. You need every right of that user, and your password " +
      'or a login younger than five minutes.',
    tag: 'users',
    right: 'user.manage',
    body: jsonBody(proofSchema, { required: false }),
    success: { description: 'They are removed.' },
    problems: [...proofProblems, 'not-found'],
    audit: ({ path }) => ({ action: 'user.second-factors-reset', target: path.username }),
    handle: async ({ request, caller, path, body }) => {
      await requireRecentProof(caller, proofOf(request, body))
      await secondFactors.reset(path.username, caller)
    },
  })
