import { ProblemError, Unavailable } from '../../../shared/platform/problems/errors.ts'
import {
  occurrenceOf,
  occurrenceOfUnavailable,
  type ProblemEntry,
  problemDocument,
} from '../../../shared/platform/problems/problem-document.ts'
import { authenticationOptions } from '../../../shared/protocol/authentication/app-options.ts'
import { sharedProblems } from '../../../shared/protocol/problems/both-servers.ts'
import { AskedRefusal } from '../asked/ask-about-requests.ts'
import type { SchemeName } from './verifier.ts'

/**
 * The refusal of a request: what a service answers in place of its own response.
 *
 * @example
 * ```ts
 * try {
 *   const caller = await verifier.verify(request, { clientAddress })
 *   caller.require('invoice.approve')
 * } catch (error) {
 *   if (error instanceof Refusal) return error.toResponse()
 *   throw error
 * }
 * ```
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  /** The status of the response: 401, 403, 503, or another one that a client can act on. */
  readonly status: number
  /** What programs decide by, such as `missing-right`. */
  readonly code: string
  /** The header fields of the response, such as challenges: one line for each element. */
  readonly headers: Readonly<Record<string, readonly string[]>>
  /** The body of the response: a problem document (RFC 9457). */
  readonly document: Readonly<Record<string, unknown>>

  /** Refusals are made by verifiers. */
  constructor(document: RefusalDocument, headers: Refusal['headers'], cause: unknown) {
    super(document.detail, { cause })
    this.status = document.status
    this.code = document.code
    this.headers = headers
    this.document = document
  }

  /** The response to the client. */
  toResponse(): Response {
    const lines = Object.entries(this.headers).flatMap(([name, values]) => values.map((value) => [name, value]))
    return new Response(JSON.stringify(this.document), {
      status: this.status,
      headers: new Headers(lines as [string, string][]),
    })
  }
}

/** A problem document. */
interface RefusalDocument extends Readonly<Record<string, unknown>> {
  readonly status: number
  readonly code: string
  readonly detail: string
}

/** What refusals say beside what is refused. */
export interface RefusalContext {
  /** The public origin of the auth server, which explains all codes. */
  readonly origin: string
  readonly schemes: readonly SchemeName[]
  /** EXPIRED_TOKEN_STATUS of the auth server. */
  readonly expiredTokenStatus: number
}

/** The refusal for an error. Other errors stay as they are: they are mistakes of ours, or of the service. */
export function refusalFor(error: unknown, context: RefusalContext, requestId: string): unknown {
  if (error instanceof ProblemError) return refusalOfProblem(error, context, requestId)
  if (!(error instanceof Unavailable)) return error
  const document = problemDocument(sharedProblems, occurrenceOfUnavailable(error), { ...context, requestId })
  return new Refusal(document, { ...always, ...retryAfter(error) }, error)
}

const always = { 'content-type': ['application/problem+json'], 'cache-control': ['no-store'] }

function refusalOfProblem(problem: ProblemError, context: RefusalContext, requestId: string): Refusal {
  const { schemes, fallbackChallenge } = authenticationOptions(context.schemes)
  const table = { [problem.code]: entryOf(problem, context) }
  const document = problemDocument(table, occurrenceOf(problem), { ...context, requestId })
  const own = Object.entries(problem.headers).map(([name, lines]) => [name, [lines].flat()] as const)
  const headers = { ...always, ...retryAfter(problem), ...Object.fromEntries(own) }
  if (document.status !== 401) return new Refusal(document, headers, problem)
  const challenge = fallbackChallenge === undefined ? {} : { 'www-authenticate': [fallbackChallenge] }
  return new Refusal({ ...document, schemes }, { ...challenge, ...headers }, problem)
}

/** The entry of a code. A newer auth server may know more codes. */
function entryOf(problem: ProblemError, { expiredTokenStatus }: RefusalContext): ProblemEntry {
  const entries: Readonly<Record<string, ProblemEntry>> = sharedProblems
  const entry = entries[problem.code] ?? { status: 401, title: problem.code, meaning: '', remedy: '' }
  if (problem.code === 'token-expired') return { ...entry, status: expiredTokenStatus }
  return problem instanceof AskedRefusal ? { ...entry, status: problem.status } : entry
}

const retryAfter = ({ retryAfterSeconds }: Pick<ProblemError, 'retryAfterSeconds'>) =>
  retryAfterSeconds === undefined ? {} : { 'retry-after': [String(retryAfterSeconds)] }
