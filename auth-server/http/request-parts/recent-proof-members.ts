/** The recent proof in requests that create a lasting credential (`logins/recent-proof.ts`). */
import * as z from 'zod'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import type { RecentProof } from '../../../shared/protocol/authentication/recent-proof.ts'

/** The members of such a request. */
export const proofMembers = {
  password: z.string().optional().meta({
    description: 'Your own password. May be left out when your login is younger than five minutes, or with Basic.',
  }),
  code: z.string().max(100).optional().meta({
    description:
      'A one-time code or recovery code of yours beside the password, for users with a second factor whose login has none.',
  }),
}

/** A body with these members alone. */
export const proofSchema = z.strictObject(proofMembers)

/** The proof that a request carries. */
export const proofOf = (request: HttpRequest, { password, code }: z.output<typeof proofSchema>): RecentProof => ({
  password,
  code,
  clientAddress: request.peer.address,
})

/** Problem codes of a request without such a proof. */
export const proofProblems: readonly string[] = [
  'wrong-password',
  'recent-login-required',
  'second-factor-login-required',
]
