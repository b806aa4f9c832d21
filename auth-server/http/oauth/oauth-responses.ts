/** Responses below `/oauth`: RFC 6749 §5.1 and §5.2, never a problem document. */

import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { type HttpResponse, jsonResponse, noStore } from '../../../shared/platform/http/response.ts'
import type { OtherProblemForm } from '../../../shared/platform/http/server/routes.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { ProblemDocument } from '../../../shared/platform/problems/problem-document.ts'
import { isOfScript, realm } from '../../../shared/protocol/authentication/scheme.ts'
import { OAuthError } from '../../oauth/oauth-error.ts'
import { noCache } from '../endpoints/tokens.ts'
import { bearerChallenge } from '../request-parts/own-credential.ts'

/** Caches must not store responses (RFC 6749 §5.1). */
const neverStored = { ...noStore, ...noCache }

/** Replaces characters that RFC 6749 §5.2 does not allow in a description. */
const allowedText = (text: string): string => text.replace(/["\\]/g, "'").replace(/[^\x20-\x7e]/g, '?')

const bodyOf = (error: string, description: string) => ({ error, error_description: allowedText(description) })

/** Makes the response to a refusal with an error code of OAuth. Undefined for every other error. */
export function responseToRefusal(request: HttpRequest, error: unknown): HttpResponse | undefined {
  if (!(error instanceof ProblemError)) return undefined
  const isOurs = error instanceof OAuthError || error.code === 'invalid_grant'
  if (!isOurs) return undefined
  const isOfClient = error.code === 'invalid_client'
  const challenge = isOfClient ? challengeFor(request) : {}
  const headers = { ...neverStored, ...challenge }
  const response = jsonResponse(isOfClient ? 401 : 400, bodyOf(error.code, error.message), headers)
  return { ...response, problemCode: error.code }
}

/**
 * The challenge of a refused client. A script that did not use the Authorization header gets Bearer, because Basic
 * would open a dialog of the browser.
 */
const challengeFor = (request: HttpRequest): HttpResponse['headers'] =>
  request.header('authorization') === undefined && isOfScript(request)
    ? bearerChallenge
    : { 'www-authenticate': [`Basic realm="${realm}", charset="UTF-8"`] }

/** People see these routes, by pages of the console. */
const ofBrowsers = /^\/oauth\/(authorize|device|logout)(\/|$)/

/** Writes a problem outside a handler as an OAuth error, with the closest error code that OAuth has. */
export const oauthProblemForm: OtherProblemForm = (request, problem) =>
  request.path.startsWith('/oauth/') && !ofBrowsers.test(request.path)
    ? {
        headers: { 'content-type': 'application/json', ...neverStored },
        body: bodyOf(errorOf(problem, request.path), problem.detail),
      }
    : undefined

function errorOf({ status, code }: ProblemDocument, path: string): string {
  if (status === 503 || status === 429) return 'temporarily_unavailable'
  if (status >= 500) return 'server_error'
  const ofToken = ['invalid-token', 'wrong-audience', 'token-expired', 'login-ended', 'principal-disabled']
  if (ofToken.includes(code)) return 'invalid_token'
  if (code === 'missing-right') return 'insufficient_scope'
  return status === 401 ? (path === '/oauth/userinfo' ? 'invalid_token' : 'invalid_client') : 'invalid_request'
}
