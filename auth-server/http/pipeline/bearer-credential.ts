import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { authorizationOf, realm } from '../../../shared/protocol/authentication/scheme.ts'

/** The challenge of routes that read a token or a password themselves. */
export const bearerChallenge = { 'www-authenticate': [`Bearer realm="${realm}"`] }

/** The challenge for a token that is not accepted (RFC 6750 §3.1). */
export const invalidTokenChallenge = { 'www-authenticate': [`Bearer realm="${realm}", error="invalid_token"`] }

/**
 * Reads the token that `/refresh` and `/logout` take as their credential. The routes find out its kind.
 *
 * @throws ProblemError `several-credentials`, `unauthenticated`
 */
export function bearerTokenOf(request: HttpRequest): string {
  if (request.headerLines('authorization').length > 1) {
    throw new ProblemError('several-credentials', 'Send exactly one Authorization header.')
  }
  const token = authorizationOf(request, 'bearer')
  if (token !== undefined) return token
  throw new ProblemError('unauthenticated', 'Send the token as Authorization: Bearer.', {
    headers: bearerChallenge,
    members: { schemes: ['bearer'] },
  })
}
