/**
 * Problem documents (RFC 9457) and the codes that both servers share. Each server's `http/problems.ts` adds its own codes; the type
 * of that table makes a code without an entry a compile error.
 */
import type { Refused, Unavailable } from './errors.ts'

/** What every occurrence of one code has in common. */
export interface ProblemEntry {
  readonly status: number
  /** For everybody: the same in every occurrence (RFC 9457 §3.1.3). */
  readonly title: string
}

/** Codes that either server may answer with. */
export const sharedProblems = {
  'malformed-request': { status: 400, title: 'The request is not well-formed HTTP' },
  'invalid-body': { status: 400, title: 'The body cannot be read as what this route expects' },
  'invalid-parameter': { status: 400, title: 'A parameter of the URL or a header field cannot be read' },
  'invalid-cursor': { status: 400, title: 'The cursor is not one of this query' },
  'ambiguous-parameter': { status: 400, title: 'Two different requests would have this signature' },
  'body-hash-required': { status: 400, title: 'The signature must cover the body' },
  'signature-method-required': { status: 400, title: 'The signature must cover the method' },
  'several-credentials': { status: 400, title: 'More than one credential in one request' },
  'token-expired': { status: 400, title: 'The token has expired' },
  unauthenticated: { status: 401, title: 'A credential is needed' },
  'unknown-scheme': { status: 401, title: 'This authentication scheme is not served' },
  'invalid-token': { status: 401, title: 'The token is not valid' },
  'invalid-credentials': { status: 401, title: 'User name or password is not right' },
  'invalid-signature': { status: 401, title: 'The signature is not right' },
  'signature-too-old': { status: 401, title: 'The request was signed too long ago' },
  'signature-from-future': { status: 401, title: 'The request was signed in the future' },
  'signature-used': { status: 401, title: 'The signature has been used already' },
  'invalid-session': { status: 401, title: 'The session does not exist or has ended' },
  'stale-nonce': { status: 401, title: 'The nonce is too old; the challenge has a new one' },
  'login-ended': { status: 401, title: 'The login this credential belongs to has ended' },
  'principal-disabled': { status: 401, title: 'The user of this credential is disabled or does not exist' },
  'insecure-transport': { status: 403, title: 'Credentials are accepted over HTTPS only' },
  'cross-site': { status: 403, title: 'A page of another site made this request' },
  'missing-right': { status: 403, title: 'The caller lacks a right' },
  'not-found': { status: 404, title: 'There is no such thing' },
  'method-not-allowed': { status: 405, title: 'The method is not allowed here' },
  'request-timeout': { status: 408, title: 'The request took too long to arrive' },
  'body-too-large': { status: 413, title: 'The body is too large' },
  'unsupported-media-type': { status: 415, title: 'The body must be JSON in UTF-8' },
  'expectation-failed': { status: 417, title: 'The Expect header cannot be met' },
  'invalid-value': { status: 422, title: 'A value is of the right type but not acceptable' },
  'too-many-attempts': { status: 429, title: 'Too many failed attempts' },
  'headers-too-large': { status: 431, title: 'The header fields are too large' },
  'internal-error': { status: 500, title: 'Something went wrong in the server' },
  unavailable: { status: 503, title: 'Something this server depends on does not answer' },
} as const satisfies Record<string, ProblemEntry>

export type SharedProblemCode = keyof typeof sharedProblems

/** One thing wrong with one member of a body: an RFC 6901 pointer, a kebab-case code and a sentence. */
export interface MemberError {
  readonly pointer: string
  readonly code: string
  readonly message: string
}

/** A problem document, members in the order in which they are written. */
export interface ProblemDocument {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance: string
  readonly code: string
  readonly requestId: string
  readonly [member: string]: unknown
}

export interface ProblemContext {
  /** The public origin of the server that answers. */
  readonly origin: string
  readonly requestId: string
}

/** The table of one server. */
export type ProblemTable = Readonly<Record<string, ProblemEntry>>

/**
 * The document for one occurrence of `code`.
 * @throws TypeError for a code that the table lacks: our own mistake, not a caller's
 */
export function problemDocument(
  table: ProblemTable,
  occurrence: { code: string; detail: string; members?: Readonly<Record<string, unknown>> },
  context: ProblemContext,
): ProblemDocument {
  const entry = table[occurrence.code]
  if (!entry) throw new TypeError(`No problem entry for the code ${occurrence.code}`)
  return {
    type: `${context.origin}/problems/${occurrence.code}`,
    title: entry.title,
    status: entry.status,
    detail: occurrence.detail,
    instance: `urn:uuid:${context.requestId}`,
    code: occurrence.code,
    requestId: context.requestId,
    ...occurrence.members,
  }
}

/** The occurrence that a refusal is. */
export const occurrenceOf = (refused: Refused) => ({
  code: refused.code,
  detail: refused.message,
  members: refused.members,
})

/** The occurrence that a missing dependency is. */
export const occurrenceOfUnavailable = (error: Unavailable) => ({
  code: 'unavailable',
  detail: `The request was not carried out, because the ${error.dependency} did not answer. Try again.`,
})
