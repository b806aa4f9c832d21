/** Problem documents in the OpenAPI document: one response component for each set of codes of one status. */

import type { JsonSchema } from '../http/operation.ts'
import type { ProblemTable } from '../problems/problem-document.ts'
import { headerReferences } from './header-components.ts'
import { ref } from './json-schema.ts'

/** Names of header fields by status. */
export type HeadersByStatus = Readonly<Record<number, readonly string[]>>

/** Header fields of problems on both servers. */
const sharedHeaders: HeadersByStatus = {
  400: ['WWW-Authenticate', 'Set-Cookie'],
  401: ['WWW-Authenticate', 'Set-Cookie'],
  403: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

/** The problems of one server. */
export interface Problems {
  readonly problems: ProblemTable
  /** Header fields of problems on this server only. */
  readonly problemHeaders?: HeadersByStatus
}

type Responses = Record<string, JsonSchema>

/** What a request without parameters can get. Readers and linters expect an error of the client. */
const ofEveryRequest = ['malformed-request']

/** More codes than this help no reader of one operation. */
const maxCodes = 8

/**
 * References to the responses for `codes`, by status, and `default` for all other problems. Adds the responses
 * themselves to `components`.
 * @throws TypeError for a code that the table lacks, and for more than eight codes: a mistake in a description
 */
export function problemResponses(codes: readonly string[], described: Problems, components: Responses): Responses {
  const { problems: table } = described
  if (codes.length > maxCodes) throw new TypeError(`An operation names ${codes.length} codes: ${codes.join(', ')}`)
  const byStatus = new Map<number, string[]>()
  for (const code of codes.length === 0 ? ofEveryRequest : codes) {
    const entry = table[code]
    if (!entry) throw new TypeError(`No problem entry for the code ${code}`)
    byStatus.set(entry.status, [...(byStatus.get(entry.status) ?? []), code])
  }
  const responses: Responses = {}
  for (const [status, ofStatus] of byStatus) {
    const sorted = ofStatus.toSorted()
    const name = sorted.map(identifierOf).join('Or')
    components[name] ??= problemResponse(sorted, described)
    responses[status] = { $ref: `#/components/responses/${name}` }
  }
  components[otherProblem] ??= anyProblem(described)
  responses.default = { $ref: `#/components/responses/${otherProblem}` }
  return responses
}

const otherProblem = 'OtherProblem'

/** `not-found` as an identifier: `NotFound`. */
const identifierOf = (code: string): string =>
  code.replace(/(?:^|[-_])([a-z])/g, (_, letter: string) => letter.toUpperCase())

function problemResponse(codes: readonly string[], { problems: table, problemHeaders = {} }: Problems): JsonSchema {
  const status = table[codes[0] ?? '']?.status ?? 0
  return {
    description: [...codes.map((code) => `\`${code}\`: ${table[code]?.title}.`), 'Or another code.'].join('\n\n'),
    headers: headerReferences(['X-Request-Id', ...(sharedHeaders[status] ?? []), ...(problemHeaders[status] ?? [])]),
    content: { 'application/problem+json': { schema: ref('Problem') } },
  }
}

function anyProblem({ problemHeaders = {} }: Problems): JsonSchema {
  const fields = [sharedHeaders, problemHeaders].flatMap((byStatus) => Object.values(byStatus).flat())
  return {
    description: 'Any other problem. `code` says which one, and `/problems/{code}` explains it.',
    headers: headerReferences([...new Set(['X-Request-Id', ...fields])]),
    content: { 'application/problem+json': { schema: ref('Problem') } },
  }
}

const text = { type: 'string' } as const
const texts = { type: 'array', items: text } as const

/** The schema of problem documents (RFC 9457): the members of all, and those of some. */
export const problemSchema = (table: ProblemTable, members: Readonly<Record<string, JsonSchema>> = {}): JsonSchema => ({
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId'],
  properties: {
    type: { ...text, format: 'uri' },
    title: { ...text, description: 'For everybody: the same in every occurrence of the code.' },
    status: { type: 'integer' },
    detail: { ...text, description: 'For the developer of the calling client.' },
    instance: { ...text, format: 'uri' },
    code: { enum: Object.keys(table).sort() },
    requestId: { ...text, format: 'uuid' },
    errors: {
      type: 'array',
      description: 'Each member at fault.',
      items: {
        type: 'object',
        required: ['pointer', 'code', 'message'],
        properties: { pointer: { ...text, description: 'RFC 6901.' }, code: text, message: text },
      },
    },
    schemes: { ...texts, description: 'On 401: the authentication schemes served.' },
    serverTime: {
      type: 'integer',
      description: 'Of refused signatures: the time of the server, in seconds since 1970.',
    },
    missingRight: text,
    missingRights: texts,
    ...members,
  },
})
