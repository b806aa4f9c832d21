import type { HttpCall } from '../../../shared/platform/http/request.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'
import { authorizationOf, realm } from '../../../shared/protocol/authentication/scheme.ts'

/** The challenge of the routes that take a token or a password of their own. */
export const bearerChallenge = { 'www-authenticate': [`Bearer realm="${realm}"`] }

/** The one about a token that is not accepted (RFC 6750 §3.1). */
export const invalidTokenChallenge = { 'www-authenticate': [`Bearer realm="${realm}", error="invalid_token"`] }

/**
 * The token that `/refresh` and `/logout` take as their credential; which kind it is, they find out.
 * @throws Refused `several-credentials`, `unauthenticated`
 */
export function bearerTokenOf(call: HttpCall): string {
  if (call.headerLines('authorization').length > 1) {
    throw new Refused('several-credentials', 'Send exactly one Authorization header.')
  }
  const token = authorizationOf(call, 'bearer')
  if (token !== undefined) return token
  throw new Refused('unauthenticated', 'Send the token as Authorization: Bearer.', {
    headers: bearerChallenge,
    members: { schemes: ['bearer'] },
  })
}
