import { KeyholdProblem, KeyholdUnreachable } from '../../../client/src/index.ts'
import { OperationError, OperationFailed } from '../../../shared/platform/terminal/report.ts'
import { Interrupted } from '../../../shared/platform/terminal/terminal.ts'

/** What the typed client throws as an error with the tool's own sentence; every other error as it is. */
export function asSentence(error: unknown, authUrl: string): unknown {
  if (error instanceof KeyholdProblem) return refusal(error, authUrl)
  if (error instanceof KeyholdUnreachable) {
    if (error.cause instanceof Interrupted) return error.cause
    return new OperationFailed(`The auth server at ${authUrl} cannot be reached: ${reasonOf(error.cause)}`)
  }
  // The body of a success is no JSON.
  return error instanceof SyntaxError ? otherAnswer(authUrl) : error
}

/** The error for an answer that no auth server of this version gives. */
export const otherAnswer = (authUrl: string): Error =>
  new OperationFailed(`What ${authUrl} answers is not an answer of this version.`)

function refusal({ code, message, status, errors, retryAfter }: KeyholdProblem, authUrl: string): Error {
  if (code === 'no-problem-document') {
    return new OperationFailed(`${authUrl} answers ${status} without saying why: is it the auth server?`)
  }
  const later = retryAfter === undefined || /Try again in/.test(message) ? '' : ` Try again in ${retryAfter} s.`
  return new OperationError(
    `${message}${later}${errors.map(({ pointer, message }) => `\n  ${pointer}: ${message}`).join('')}`,
  )
}

/** The reason of a failed fetch. It stands in `cause`, which has a `code` also for a host with several addresses. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error'
  const cause = error.cause instanceof Error ? error.cause : error
  const code = 'code' in cause ? String(cause.code) : ''
  if (/CERT|SIGNATURE|ISSUER|ALTNAME/.test(code)) {
    return `its certificate is not trusted (${code}). Name the authority's PEM file in NODE_EXTRA_CA_CERTS.`
  }
  return `${code || cause.message}.`
}
