/** Problem documents (RFC 9457). Each server has a table of all codes that it answers with. */

import type { Refused, Unavailable } from './errors.ts'

/** What every occurrence of one code has in common. */
export interface ProblemEntry {
  readonly status: number
  /** For everybody: the same in every occurrence (RFC 9457 §3.1.3). */
  readonly title: string
  /** What happened, as its page says it. */
  readonly meaning: string
  /** What the caller does about it. */
  readonly remedy: string
}

/** Codes of the platform itself: what the listener, the routes and the readers of bodies and queries refuse. */
export type PlatformProblemCode =
  | 'body-too-large'
  | 'contradicting-forwarding-headers'
  | 'dot-segment'
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

/** The entries that every server on this platform has. */
export type PlatformProblems = Readonly<Record<PlatformProblemCode, ProblemEntry>>

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
