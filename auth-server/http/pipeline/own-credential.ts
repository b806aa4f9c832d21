/**
 * Credentials that an endpoint takes instead of those of a scheme: they come in its body, its path or a token's own
 * header line.
 */

import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import type { HttpResponse } from '../../../shared/platform/http/response.ts'
import type { Authenticate } from '../../../shared/protocol/authentication/authenticate.ts'
import { bearerChallenge, bearerTokenOf, invalidTokenChallenge } from './bearer-credential.ts'

/** How such a credential is found, and what a refusal of it carries. */
export interface OwnCredential<Found> {
  /** Tests read it: what a route can refuse depends on it. */
  readonly kind: 'password' | 'token' | 'client' | 'session'
  /** Browsers send it on their own, so the cross-site rule comes before anything of it is looked at. */
  readonly isSentByBrowsers?: boolean
  /** Runs where other endpoints authenticate their caller. @throws ProblemError 400, 401, 429; Unavailable */
  find(request: HttpRequest, authenticate: Authenticate): Promise<Found> | Found
  /** Code of a refusal → its challenge (RFC 9110 §11.6.1). */
  readonly challenges?: Readonly<Record<string, HttpResponse['headers']>>
  /** Writes refusals in another form than problem documents; undefined for those that it leaves alone. */
  refusal?(request: HttpRequest, error: unknown): HttpResponse | undefined
  /** Codes of the problems that come with it, for the documentation. */
  readonly problems: readonly string[]
  /** Names of security schemes for the documentation; undefined: those of every caller. */
  readonly security?: readonly string[]
}

const everywhere = ['insecure-transport', 'unavailable', 'body-too-large']

/** User name and password in the body; `handle` checks them. */
export const password: OwnCredential<undefined> = {
  kind: 'password',
  find: () => undefined,
  challenges: { 'invalid-credentials': bearerChallenge },
  problems: [...everywhere, 'invalid-credentials', 'too-many-attempts'],
  security: [],
}

/** The same from a form of a page. */
export const passwordOfForm: OwnCredential<undefined> = {
  ...password,
  isSentByBrowsers: true,
  problems: [...password.problems, 'cross-site'],
}

/** `Authorization: Bearer` with a token of a login; `handle` finds out which kind it is. */
export const token: OwnCredential<string> = {
  kind: 'token',
  find: bearerTokenOf,
  challenges: { 'invalid-token': invalidTokenChallenge },
  problems: [...everywhere, 'unauthenticated', 'several-credentials'],
}
