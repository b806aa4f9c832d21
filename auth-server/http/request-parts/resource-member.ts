/** The member `resource` of requests for credentials (RFC 8707). */
import * as z from 'zod'
import { invalidValue } from '../../../shared/platform/problems/check-value.ts'
import type { Audiences } from '../../oauth/audiences.ts'

/** The member. */
export const resource = z
  .string()
  .optional()
  .meta({
    description:
      'RFC 8707: the audience of the resource server that the credential is for. Left out, it is for the auth server and ' +
      'the deal server.',
  })

/** The audience that the member chooses; null: that of the pair. @throws ProblemError `invalid-value`; Unavailable */
export async function chosenAudience({ choose }: Audiences, sent: string | undefined): Promise<string | null> {
  const audience = await choose(sent)
  if (audience !== undefined) return audience
  const message = 'No resource server has this audience.'
  throw invalidValue([{ pointer: '/resource', code: 'unknown-resource', message }])
}
