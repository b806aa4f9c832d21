/**
 * Answers plain calls of the present revision without the library, which makes a server, a request and a response of
 * its own for each message: that takes longer than the command. Every other message goes to the library, whose answer
 * to a plain call is the same.
 */
import * as z from 'zod'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { type HttpResponse, jsonResponse, noStore } from '../../../shared/platform/http/response.ts'

/** The result of a call: a JSON object, or the problem document of a refusal. */
export interface CallResult {
  readonly value: object
  readonly isError: boolean
}

/** What clients see of this server. */
export const serverInfo = { name: 'keyhold-deals', title: 'Keyhold deals', version: '1' } as const

const revision = '2026-07-28'
const prefix = 'io.modelcontextprotocol'

const plainCall = z.strictObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int()]),
  method: z.literal('tools/call'),
  params: z.strictObject({
    name: z.string(),
    arguments: z.custom((value) => typeof value === 'object' && value !== null && !Array.isArray(value)).optional(),
    _meta: z.looseObject({
      [`${prefix}/protocolVersion`]: z.literal(revision),
      [`${prefix}/clientInfo`]: z.looseObject({ name: z.string(), version: z.string() }),
      [`${prefix}/clientCapabilities`]: z.looseObject({}),
    }),
  }),
})

/** The id of a message, and the tool that it calls. */
export interface PlainCall {
  readonly id: string | number
  readonly name: string
}

/** The call, if the message is a plain one. */
export function plainCallOf(message: unknown, request: HttpRequest): PlainCall | undefined {
  const { data } = plainCall.safeParse(message)
  if (!data) return undefined
  const { id, method, params } = data
  const accepts = /application\/json|\*\/\*/.test(request.header('accept') ?? '')
  const fields = { 'mcp-protocol-version': revision, 'mcp-method': method, 'mcp-name': params.name }
  const agrees = Object.entries(fields).every(([field, value]) => request.header(field) === value)
  return accepts && agrees ? { id, name: params.name } : undefined
}

/** The response to a plain call. */
export function plainResponse({ id }: PlainCall, { value, isError }: CallResult): HttpResponse {
  const result = {
    content: [{ type: 'text', text: JSON.stringify(value) }],
    structuredContent: value,
    isError,
    resultType: 'complete',
    _meta: { [`${prefix}/serverInfo`]: serverInfo },
  }
  return jsonResponse(200, { result, jsonrpc: '2.0', id }, noStore)
}
