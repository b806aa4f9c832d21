/**
 * Credentials that an endpoint reads itself, instead of those of a scheme: from its body, its path, or the
 * Authorization header.
 */

import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import type { HttpResponse } from '../../../shared/platform/http/response.ts'
import type { Authenticate } from '../../../shared/protocol/authentication/authenticate.ts'
import { bearerChallenge, bearerTokenOf, invalidTokenChallenge } from './bearer-credential.ts'

/** Reads such a credential, and describes its refusals. */
export interface OwnCredential<Found> {
  /** For tests: the possible refusals of a route depend on it. */
  readonly kind: 'password' | 'token' | 'client' | 'session'
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
  /** Its problem codes, for the documentation. */
  readonly problems: readonly string[]
  /** Names of its security schemes, for the documentation. Undefined: the schemes of all callers. */
  readonly security?: readonly string[]
}

const commonProblems = ['insecure-transport', 'unavailable', 'body-too-large']

/** User name and password in the body. `handle` checks them. */
export const password: OwnCredential<undefined> = {
  kind: 'password',
  find: () => undefined,
  challenges: { 'invalid-credentials': bearerChallenge },
  problems: [...commonProblems, 'invalid-credentials', 'too-many-attempts'],
  security: [],
}

/** User name and password in a form of a page. */
export const passwordOfForm: OwnCredential<undefined> = {
  ...password,
  isSentByBrowsers: true,
  problems: [...password.problems, 'cross-site'],
}

/** `Authorization: Bearer` with a token of a login. `handle` finds out its kind. */
export const token: OwnCredential<string> = {
  kind: 'token',
  find: bearerTokenOf,
  challenges: { 'invalid-token': invalidTokenChallenge },
  problems: [...commonProblems, 'unauthenticated', 'several-credentials'],
}
