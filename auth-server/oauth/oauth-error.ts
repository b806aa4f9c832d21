/**
 * OAuth (RFC 6749): API keys as clients, the tokens issued to them, introspection and revocation. This folder owns
 * client authentication, grants and the reading of tokens. It must not know HTTP.
 */

import { ProblemError } from '../../shared/platform/problems/errors.ts'

/** The codes of RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6 and RFC 8707 §2 that are used here. */
export type AuthorizationErrorCode =
  | 'invalid_request'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'invalid_target'
  | 'access_denied'
  | 'login_required'
  | 'consent_required'
  | 'request_not_supported'
  | 'request_uri_not_supported'
  | 'registration_not_supported'

/** The codes of RFC 6749 §5.2, of RFC 8707 §2, and of RFC 8628 §3.5. */
export type OAuthErrorCode =
  | AuthorizationErrorCode
  | 'authorization_pending'
  | 'slow_down'
  | 'expired_token'
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'invalid_scope'
  | 'invalid_target'

/** A refusal with an error code of OAuth. */
export class OAuthError extends ProblemError<OAuthErrorCode> {}

/**
 * The refusal of a client. It is the same for an unknown, revoked or expired client, a disabled owner and a wrong
 * secret.
 */
export const invalidClient = (): OAuthError =>
  new OAuthError('invalid_client', 'The client is not known, or did not authenticate as it must.')
