/** Problem documents in the OpenAPI document: one response component for each set of codes of one status. */

import type { JsonSchema } from '../http/operation.ts'
import type { ProblemTable } from '../problems/problem-document.ts'
import { ref } from './json-schema.ts'

/** The problems that every request can get, below the framework and in it. */
const ofEveryRequest = [
  'malformed-request',
  'dot-segment',
  'contradicting-forwarding-headers',
  'request-timeout',
  'expectation-failed',
  'misdirected-request',
  'headers-too-large',
  'internal-error',
]

/** The problems of bodies. */
export const bodyProblems: readonly string[] = ['invalid-body', 'unsupported-media-type', 'invalid-value']

/** Names of header components by status. */
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

/**
 * References to the responses for `codes`, by status. Adds the responses themselves to `components`.
 * @throws TypeError for a code that the table lacks
 */
export function problemResponses(
  codes: readonly string[],
  { problems: table, problemHeaders = {} }: Problems,
  components: Responses,
): Responses {
  const byStatus = new Map<number, Set<string>>()
  for (const code of [...codes, ...ofEveryRequest]) {
    const entry = table[code]
    if (!entry) throw new TypeError(`No problem entry for the code ${code}`)
    const ofStatus = byStatus.get(entry.status) ?? new Set()
    byStatus.set(entry.status, ofStatus.add(code))
  }
  const responses: Responses = {}
  for (const [status, ofStatus] of byStatus) {
    const sorted = [...ofStatus].sort()
    const name = `${status}-${sorted.join('.')}`
    components[name] ??= problemResponse(sorted, table, [
      ...(sharedHeaders[status] ?? []),
      ...(problemHeaders[status] ?? []),
    ])
    responses[status] = { $ref: `#/components/responses/${name}` }
  }
  return responses
}

function problemResponse(codes: readonly string[], table: ProblemTable, headers: readonly string[]): JsonSchema {
  const status = table[codes[0] ?? '']?.status
  const schema = { allOf: [ref('Problem')], properties: { status: { const: status }, code: { enum: codes } } }
  return {
    description: codes.map((code) => `\`${code}\`: ${table[code]?.title}.`).join('\n\n'),
    headers: headerReferences(['X-Request-Id', ...headers]),
    content: { 'application/problem+json': { schema } },
  }
}

/** References to header components. */
export const headerReferences = (names: readonly string[]): JsonSchema =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

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
