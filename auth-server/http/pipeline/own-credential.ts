/**
 * Credentials that an endpoint reads itself, instead of those of a scheme: from its body, its path, the Authorization
 * header, or the request that a proxy asks about.
 */

import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import type { HttpResponse } from '../../../shared/platform/http/response.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { Authenticate } from '../../../shared/protocol/authentication/authenticate.ts'
import { authorizationOf, realm } from '../../../shared/protocol/authentication/scheme.ts'

/** Reads such a credential, and describes its refusals. */
export interface OwnCredential<Found> {
  /** For tests: the possible refusals of a route depend on it. */
  readonly kind: 'password' | 'token' | 'client' | 'session' | 'forwarded'
  /** True when browsers send it without being asked. Then the cross-site rule runs before the credential is read. */
  readonly isSentByBrowsers?: boolean
  /**
   * Runs at the step where other endpoints authenticate their caller.
   *
   * @throws ProblemError 400, 401, 429; Unavailable
   */
  find(request: HttpRequest, authenticate: Authenticate): Promise<Found> | Found
  /** Problem code → challenge (RFC 9110 §11.6.1). */
  readonly challenges?: Readonly<Record<string, HttpResponse['headers']>>
  /** Writes refusals in another form than problem documents. Undefined: the refusal becomes a problem document. */
  refusal?(request: HttpRequest, error: unknown): HttpResponse | undefined
  /** The problem codes that its users should know, for the documentation. */
  readonly problems: readonly string[]
  /** Names of its security schemes, for the documentation. Undefined: the schemes of all callers. */
  readonly security?: readonly string[]
}

/** The challenge of routes that read a token or a password themselves. */
export const bearerChallenge = { 'www-authenticate': [`Bearer realm="${realm}"`] }

/** The challenge for a token that is not accepted (RFC 6750 §3.1). */
const invalidTokenChallenge = { 'www-authenticate': [`Bearer realm="${realm}", error="invalid_token"`] }

/** User name and password in the body. `handle` checks them. */
export const password: OwnCredential<undefined> = {
  kind: 'password',
  find: () => undefined,
  challenges: {
    'invalid-credentials': bearerChallenge,
    'second-factor-required': bearerChallenge,
    'invalid-second-factor': bearerChallenge,
  },
  problems: ['invalid-credentials', 'too-many-attempts'],
  security: [],
}

/** User name and password in a form of a page. */
export const passwordOfForm: OwnCredential<undefined> = {
  ...password,
  isSentByBrowsers: true,
  problems: [...password.problems, 'cross-site'],
}

/** Names the user, who has just proved the password, in the log line of the request. */
export const nameCaller =
  (request: HttpRequest) =>
  (userId: string): void => {
    request.caller = { userId, scheme: 'password' }
  }

/** `Authorization: Bearer` with a token of a login. `handle` finds out its kind. */
export const token: OwnCredential<string> = {
  kind: 'token',
  find: bearerTokenOf,
  challenges: { 'invalid-token': invalidTokenChallenge },
  problems: ['unauthenticated', 'several-credentials'],
}

/**
 * Reads the token that `/refresh` and `/logout` take as their credential. The routes find out its kind.
 *
 * @throws ProblemError `several-credentials`, `unauthenticated`
 */
function bearerTokenOf(request: HttpRequest): string {
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
