/** Problem documents (RFC 9457). Each server has a table of all its problem codes. */

import type { ProblemError, Unavailable } from './errors.ts'

/** The common parts of all occurrences of a code. */
export interface ProblemEntry {
  readonly status: number
  /** The same in every occurrence (RFC 9457 §3.1.3). */
  readonly title: string
  /** What happened, for the page of the code. */
  readonly meaning: string
  /** What the caller can do, for the page of the code. */
  readonly remedy: string
}

/** Codes of the platform itself: of the listener, the routes, and the readers of bodies and queries. */
export type PlatformProblemCode =
  | 'body-too-large'
  | 'contradicting-forwarding-headers'
  | 'dot-segment'
  | 'encoded-unreserved'
  | 'expectation-failed'
  | 'headers-too-large'
  | 'internal-error'
  | 'invalid-body'
  | 'invalid-cursor'
  | 'invalid-parameter'
  | 'invalid-value'
  | 'malformed-request'
  | 'method-not-allowed'
  | 'misdirected-request'
  | 'not-found'
  | 'request-timeout'
  | 'unavailable'
  | 'unsupported-media-type'

/** The entries that every server must have. */
export type PlatformProblems = Readonly<Record<PlatformProblemCode, ProblemEntry>>

/** One error in one member of a body: an RFC 6901 pointer, a kebab-case code and a sentence. */
export interface MemberError {
  readonly pointer: string
  readonly code: string
  readonly message: string
}

/** A problem document. The members are written in this order. */
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

interface ProblemContext {
  /** The public origin of the server. */
  readonly origin: string
  readonly requestId: string
}

/** The table of one server. */
export type ProblemTable = Readonly<Record<string, ProblemEntry>>

/**
 * The document for one occurrence of `code`.
 * @throws TypeError for a code that is not in the table, which is our mistake and not the caller's
 */
export function problemDocument(
  table: ProblemTable,
  occurrence: {
    code: string
    detail: string
    members?: Readonly<Record<string, unknown>>
    status?: number | undefined
    retryAfterSeconds?: number | undefined
  },
  context: ProblemContext,
): ProblemDocument {
  const entry = table[occurrence.code]
  if (!entry) throw new TypeError(`No problem entry for the code ${occurrence.code}`)
  const { detail, status = entry.status, retryAfterSeconds: seconds } = occurrence
  return {
    type: `${context.origin}/problems/${occurrence.code}`,
    title: entry.title,
    status,
    detail: status === 429 && seconds !== undefined ? `${detail} Try again in ${inWords(seconds)}.` : detail,
    instance: `urn:uuid:${context.requestId}`,
    code: occurrence.code,
    requestId: context.requestId,
    ...occurrence.members,
  }
}

/** How long to wait, in words. */
function inWords(seconds: number): string {
  const [count, unit] = seconds < 90 ? [seconds, 'second'] : [Math.ceil(seconds / 60), 'minute']
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

/** The occurrence of a refusal. */
export const occurrenceOf = (refused: ProblemError) => ({
  code: refused.code,
  detail: refused.message,
  members: refused.members,
  status: refused.status,
  retryAfterSeconds: refused.retryAfterSeconds,
})

/** The occurrence of a missing dependency. */
export const occurrenceOfUnavailable = ({ dependency }: Unavailable) => ({
  code: 'unavailable',
  detail:
    dependency === 'database-writes'
      ? 'The database can be read, but it confirms no write at the moment. Try again.'
      : `The request was not carried out, because the ${dependency} did not answer. Try again.`,
})
