/**
 * OAuth (RFC 6749): API keys as clients, the tokens made for them, and what a token is worth. This folder owns client authentication,
 * grants and the inspection of tokens; it must not know HTTP.
 */
import { ProblemError } from '../../shared/platform/problems/errors.ts'

/** The codes of RFC 6749 §5.2. */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'invalid_scope'

/** A refusal in the words of OAuth. */
export class OAuthError extends ProblemError<OAuthErrorCode> {}

/** The one refusal of a client, whatever is wrong with it: unknown, revoked, expired, its owner disabled, another secret. */
export const invalidClient = (): OAuthError =>
  new OAuthError('invalid_client', 'The client is not known, or did not authenticate as it must.')
