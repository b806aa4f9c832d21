/**
 * `POST /mcp`: assistants and programs call use cases and queries as tools (Model Context Protocol, revision
 * 2026-07-28, stateless; docs/contract/deals.md#tools). A call passes the same steps as every other request.
 */
import * as z from 'zod'
import { readJson } from '../../../shared/platform/http/content/json-body.ts'
import { noParameters, readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { Operation } from '../../../shared/platform/http/operation.ts'
import type { HttpResponse } from '../../../shared/platform/http/response.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { applicationOf } from '../../../shared/protocol/authentication/application.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import { resourceMetadataUrl } from '../../../shared/protocol/authentication/bearer/resource-metadata-url.ts'
import type { RefuseCrossSite } from '../../../shared/protocol/authentication/cross-site.ts'
import { realm } from '../../../shared/protocol/authentication/scheme.ts'
import { quoteOddAmounts } from '../../domain/money.ts'
import { widthOf } from '../../domain/own-deals.ts'
import type { Command } from '../../use-cases/define-use-case.ts'
import type { DescribeFailure } from '../representations/line-problems.ts'
import type { RunOne, StyleRoute } from '../requests/invocation.ts'
import { type CallResult, plainCallOf, plainResponse } from './plain-call.ts'
import type { Served } from './serve.ts'
import { type Arguments, type Tool, toolsOf } from './tools.ts'

/** The parts that tools use. */
export interface ToolOptions {
  /** The origin that clients see. */
  readonly publicOrigin: string
  readonly describeFailure: DescribeFailure
  /** Refuses pages of origins that may not call (MCP, Streamable HTTP: `Origin`). */
  readonly refuseForeignPage: RefuseCrossSite
}

/** The route, with a tool for each of the commands and for each query of the routes. */
export function toolRoute(
  commands: readonly Command[],
  routes: readonly StyleRoute[],
  options: ToolOptions,
): StyleRoute {
  let known: ReadonlyMap<string, Tool> | undefined
  return {
    style: 'mcp',
    methods: ['POST'],
    path: '/mcp',
    describe: () => [operation],
    requireCaller: (caller) => requireApplication(caller, options),
    decode: async (request) => {
      options.refuseForeignPage(request)
      // Options of a call are arguments: in the URL they would be lost.
      readQuery(request, noParameters)
      const message = await readJson(request, quoteOddAmounts)
      if (Array.isArray(message)) throw new ProblemError('invalid-body', 'Send one message in one request.')
      known ??= toolsOf(commands, routes)
      const tools = known
      return {
        kind: 'tools',
        answer: async (one) => {
          let lack: ProblemError | undefined
          const call = async (name: string): Promise<CallResult | undefined> => {
            const tool = tools.get(name)
            const values = argumentsIn(message)
            try {
              return tool && { value: await resultOf(tool, values, one), isError: false }
            } catch (error) {
              lack = lackOfScope(error, one.caller, options)
              const { problem, retryAfter } = options.describeFailure(error, request.requestId)
              const { validateOnly } = values
              return { value: { ...problem, retryAfter, validateOnly }, isError: true }
            }
          }
          const plain = plainCallOf(message, request)
          const result = plain && (await call(plain.name))
          const response = result ? plainResponse(plain, result) : await askLibrary({ message, tools, call }, one)
          if (lack) throw lack
          return response
        },
      }
    },
  }
}

interface Asked extends Pick<Served, 'call'> {
  readonly message: unknown
  readonly tools: ReadonlyMap<string, Tool>
}

/** Loads the library at its first use. */
async function askLibrary({ message, tools, call }: Asked, { request, caller }: RunOne): Promise<HttpResponse> {
  const { serveMessage } = await import('./serve.ts')
  return serveMessage(message, request, { tools: [...tools.values()].filter((tool) => tool.isFor(caller)), call })
}

const callSchema = z.object({ params: z.object({ arguments: z.unknown().optional() }) })

/** Unchanged: a copy would omit a member `__proto__`, which must be refused like any unknown member. */
const argumentsIn = (message: unknown): Arguments => Object(callSchema.parse(message).params.arguments ?? {})

async function resultOf(tool: Tool, values: Arguments, { request, run }: RunOne): Promise<object> {
  const { body } = await run(await tool.decode(values, request))
  const value: unknown = typeof body === 'string' ? JSON.parse(body) : undefined
  return Array.isArray(value) ? { items: value } : Object(value)
}

/** Requires an access token of an application. @throws ProblemError `application-token-required` */
function requireApplication({ credential }: Caller, { publicOrigin }: ToolOptions): void {
  if (applicationOf(credential)) return
  throw new ProblemError('application-token-required', 'Send the access token of an application that you let act.', {
    headers: { 'www-authenticate': [challengeOf(publicOrigin)] },
  })
}

const challengeOf = (publicOrigin: string, error = '') =>
  `Bearer realm="${realm}"${error}, resource_metadata="${resourceMetadataUrl(publicOrigin)}"`

/** The refusal of a token that was given less than its user may have: the client can ask for more (RFC 6750 §3.1). */
function lackOfScope(
  error: unknown,
  { credential: { rights } }: Caller,
  { publicOrigin }: ToolOptions,
): ProblemError | undefined {
  if (!(error instanceof ProblemError) || error.code !== 'missing-right' || rights === undefined) return undefined
  const missing = [error.members.missingRights].flat().map(String)
  const given = new Set(rights)
  if (missing.every((right) => widthOf(given, right))) return undefined
  const challenge = challengeOf(publicOrigin, `, error="insufficient_scope", scope="${missing.join(' ')}"`)
  return new ProblemError(error.code, error.message, {
    members: error.members,
    headers: { 'www-authenticate': [challenge] },
  })
}

const operation: Operation = {
  id: 'callTools',
  summary: 'Call use cases and queries as tools',
  description: `The Model Context Protocol, revision 2026-07-28, without sessions; older clients are served the same
way. One JSON-RPC message in a request. Only access tokens of applications are accepted.`,
  tags: ['mcp'],
  body: {
    schema: {
      type: 'object',
      required: ['jsonrpc', 'method'],
      properties: { jsonrpc: { const: '2.0' }, method: { type: 'string' }, id: {}, params: { type: 'object' } },
    },
    required: true,
    example: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
  },
  responses: {
    200: { description: 'The response of JSON-RPC.', schema: { type: 'object' }, alternatives: ['text/event-stream'] },
    202: { description: 'A notification was taken.' },
  },
  problems: [
    'application-token-required',
    'invalid-body',
    'invalid-parameter',
    'missing-right',
    'unsupported-media-type',
    'cross-site',
  ],
  security: ['bearer'],
}
