import type { components as AuthComponents } from '../generated/auth.ts'
import type { components as DealComponents } from '../generated/deal.ts'
import { ServerClock } from './clock.ts'

type DealProblem = DealComponents['schemas']['Problem']
type AuthProblem = AuthComponents['schemas']['Problem']

/** The codes of both servers, `no-problem-document` for an answer without one, and codes of later versions. */
export type ProblemCode = DealProblem['code'] | AuthProblem['code'] | 'no-problem-document' | (string & {})

/** A problem document of either server (RFC 9457), with the members that only some problems have. */
export type ProblemDocument = Partial<Omit<DealProblem, 'code'> & Omit<AuthProblem, 'code'>> & {
  readonly [member: string]: unknown
}

/** A member of the request at fault: its place as a JSON pointer, the kind of the fault, a sentence. */
export interface FaultyMember {
  readonly pointer: string
  readonly code: string
  readonly message: string
}

/** A gateway in front of the servers may have an `errors` of its own. */
const isFaultyMember = (value: Partial<Record<keyof FaultyMember, unknown>> | null): value is FaultyMember =>
  typeof value?.pointer === 'string' && typeof value.message === 'string'

/** A refusal by a server. `code` is stable: decide by it, never by the message. */
export class KeyholdProblem extends Error {
  override readonly name = 'KeyholdProblem'
  /** Which refusal it is, such as `deal-held`. */
  readonly code: ProblemCode
  /** The HTTP status. */
  readonly status: number
  /** A short text, the same for every occurrence of the code. */
  readonly title: string
  /** A sentence for the developer of the client. */
  readonly detail: string
  /** The members of the request at fault; empty when the problem is not about members. */
  readonly errors: readonly FaultyMember[]
  /** In seconds: when to try again; undefined when the server does not say. */
  readonly retryAfter: number | undefined
  /** The id of the request, which is in the server's log too. */
  readonly requestId: string | undefined
  /** The whole document, with members such as `current`, `allowed`, `missingRight` or `final`. */
  readonly document: ProblemDocument
  /** The answer. Its body has been read. */
  readonly response: Response

  constructor(response: Response, document: ProblemDocument) {
    const code = String(document.code ?? document.error ?? 'no-problem-document')
    const detail = String(document.detail ?? document.error_description ?? `The answer has status ${response.status}.`)
    super(`${detail} (${code})`)
    this.code = code
    this.status = response.status
    this.title = document.title ?? code
    this.detail = detail
    this.errors = Array.isArray(document.errors) ? document.errors.filter(isFaultyMember) : []
    this.retryAfter = retryAfterOf(response.headers)
    this.requestId = document.requestId ?? response.headers.get('x-request-id') ?? undefined
    this.document = document
    this.response = response
  }

  /** Reads the problem of an answer. An answer of a proxy, without a problem document, gets a code of its own. */
  static async of(response: Response): Promise<KeyholdProblem> {
    return new KeyholdProblem(response, documentIn(await response.text()))
  }
}

/** No answer came: the network or the server is away, after all repetitions. `cause` is the last failure. */
export class KeyholdUnreachable extends Error {
  override readonly name = 'KeyholdUnreachable'
  /** The origin of the server. */
  readonly origin: string
  /** How often the request was sent. */
  readonly attempts: number

  constructor(origin: string, attempts: number, cause: unknown) {
    super(`${origin} cannot be reached: ${reasonOf(cause)}`, { cause })
    this.origin = origin
    this.attempts = attempts
  }
}

/** A command of an application that may only propose: it waits until somebody approves it, and has not run. */
export class KeyholdProposed extends Error {
  override readonly name = 'KeyholdProposed'
  /** Read it at `/proposals/{id}`. */
  readonly proposal: DealComponents['schemas']['ProposedCommand']['proposal']

  constructor({ proposal }: DealComponents['schemas']['ProposedCommand']) {
    super(`The command waits for approval: proposal ${proposal.id}.`)
    this.proposal = proposal
  }
}

/**
 * True for a refusal by a server; with codes, for a refusal with one of them.
 *
 * @example
 * ```ts
 * try {
 *   await keyhold.deals.PUT('/rest/v1/deals/{id}/hold', { params: { path: { id } }, body: { reason: 'test' } })
 * } catch (error) {
 *   if (!isProblem(error, 'deal-held', 'deal-closed')) throw error
 *   console.log('not now', error.document.allowed)
 * }
 * ```
 */
export const isProblem = (error: unknown, ...codes: readonly ProblemCode[]): error is KeyholdProblem =>
  error instanceof KeyholdProblem && (codes.length === 0 || codes.includes(error.code))

/** The object in a text of JSON; an empty one for every other text. */
export function documentIn(text: string): ProblemDocument {
  try {
    return asDocument(JSON.parse(text))
  } catch {
    return {}
  }
}

/** An object as a problem document; an empty one for every other value. */
export const asDocument = (value: unknown): ProblemDocument =>
  (typeof value === 'object' && value ? value : {}) as ProblemDocument

/** The seconds of `Retry-After` (RFC 9110 §10.2.3), whose date form counts from `Date` or from now. */
export function retryAfterOf(headers: Headers): number | undefined {
  const field = headers.get('retry-after')
  if (field === null) return undefined
  if (/^\d+$/.test(field)) return Number(field)
  const now = Date.parse(headers.get('date') ?? '')
  const seconds = (Date.parse(field) - (Number.isNaN(now) ? new ServerClock().now() : now)) / 1000
  return Number.isNaN(seconds) ? undefined : Math.max(0, Math.ceil(seconds))
}

/** The reason of a failed fetch: Node.js keeps it in `cause`, which has a `code`. */
function reasonOf(error: unknown): string {
  const { cause = error } = error as { cause?: unknown }
  const { code, message } = cause as { code?: unknown; message?: unknown }
  return String(code ?? message ?? cause)
}
