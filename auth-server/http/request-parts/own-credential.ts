/** Credentials that several endpoints read themselves, instead of those of a scheme. */
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { Authentication, Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import { authorizationOf, realm } from '../../../shared/protocol/authentication/scheme.ts'
import type { OwnCredential } from '../../../shared/server/endpoints/endpoint.ts'

/** The challenge of routes that read a token or a password themselves. */
export const bearerChallenge = { 'www-authenticate': [`Bearer realm="${realm}"`] }

/** The challenge for a token that is not accepted (RFC 6750 §3.1). */
export const invalidTokenChallenge = { 'www-authenticate': [`Bearer realm="${realm}", error="invalid_token"`] }

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

/**
 * The session of a browser, if it sends one that is good. A browser without one is nobody yet: it signs in, and comes
 * again. Other credentials sign nobody in.
 */
export const browserOf = (
  findCredentials: Authentication['findCredentials'],
  isSentByBrowsers: boolean,
): OwnCredential<Caller | undefined> => ({
  kind: 'browser',
  isSentByBrowsers,
  problems: isSentByBrowsers ? ['cross-site'] : [],
  security: [],
  find: async (request, authenticate) => {
    if (!findCredentials(request).schemes.includes('session')) return undefined
    try {
      const caller = await authenticate(request)
      return caller.scheme === 'session' ? caller : undefined
    } catch (error) {
      if (error instanceof ProblemError && endedSession.has(error.code)) return undefined
      throw error
    }
  },
})

const endedSession: ReadonlySet<string> = new Set([
  'invalid-session',
  'login-ended',
  'principal-disabled',
  'wrong-audience',
])
