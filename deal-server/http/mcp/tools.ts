/**
 * The tools of an assistant (Model Context Protocol): one for each use case, made of its definition, and one for each
 * route that reads, made of its description. A new use case or query is a tool without a line here.
 */
import * as z from 'zod'
import { createInnerRequest } from '../../../shared/platform/http/inner-request.ts'
import type { JsonSchema, Operation } from '../../../shared/platform/http/operation.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { jsonResponse } from '../../../shared/platform/http/response.ts'
import { jsonSchemaOf } from '../../../shared/platform/openapi/json-schema.ts'
import { checkValue } from '../../../shared/platform/problems/check-value.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import { actsForItsUser } from '../../../shared/protocol/authentication/own-account.ts'
import { widthOf } from '../../domain/own-deals.ts'
import type { Command } from '../../use-cases/define-use-case.ts'
import { describeUseCase } from '../openapi/command-operations.ts'
import { toolArguments } from '../openapi/command-schemas.ts'
import { representDeal } from '../representations/represent-deal.ts'
import { etagOf } from '../representations/responses.ts'
import { commandIdPattern } from '../requests/command-options.ts'
import { dealIdInBody } from '../requests/deal-target.ts'
import type { CommandInvocation, Invocation, StyleRoute } from '../requests/invocation.ts'
import { ifMatchIn } from '../requests/preconditions.ts'

/** Arguments of a call, by name. */
export type Arguments = Readonly<Record<string, unknown>>

/** A tool, as its clients see it, and the request that a call of it stands for. */
export interface Tool {
  /** In snake case: `hold_deal`. */
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly annotations: Readonly<
    Record<'readOnlyHint' | 'destructiveHint' | 'idempotentHint' | 'openWorldHint', boolean>
  >
  /** True when the caller may run it, on some deal. */
  isFor(caller: Caller): boolean
  /** Decodes a call, which `request` carries. @throws ProblemError 400, 404, 422 */
  decode(values: Arguments, request: HttpRequest): Promise<Invocation> | Invocation
}

/** All tools by name. @throws TypeError when two have one name */
export function toolsOf(commands: readonly Command[], routes: readonly StyleRoute[]): ReadonlyMap<string, Tool> {
  const all = [...commands.map(toolOfCommand), ...readings(routes).map(toolOfReading)]
  const byName = new Map(all.map((tool) => [tool.name, tool]))
  if (byName.size < all.length) throw new TypeError('two tools share a name')
  return byName
}

const hasRight = ({ rights }: Caller, right: string): boolean => widthOf(rights, right) !== undefined

const snakeCase = (name: string): string => name.replace(/(?<!^)[A-Z]/g, '_$&').toLowerCase()

/** What a call says beside the parameters, as header fields and the query do in other styles. */
const options = z.strictObject({
  commandId: z.string().regex(commandIdPattern).optional().meta({
    description: 'An id of your own for this command. The same call again gets the same outcome and runs once.',
  }),
  ifMatch: z
    .string()
    .optional()
    .meta({
      description: 'Entity tags: refused when the deal has another one. That of a deal is its version in quotes.',
      examples: ['"3"'],
    }),
  validateOnly: z.boolean().optional().meta({ description: 'A dry run: all checks, and nothing is written.' }),
})

const isOption = ([name]: readonly [string, unknown]): boolean => Object.hasOwn(options.shape, name)

function toolOfCommand(command: Command): Tool {
  const { name, summary, words, right, target, makes, isDestructive = false, ownNeedsNoRight = false } = command
  return {
    name: snakeCase(name),
    title: words.pageTitle ?? words.title,
    description: `${summary}. ${describeUseCase(command)}`,
    inputSchema: toolArguments(command, options),
    annotations: {
      readOnlyHint: false,
      destructiveHint: isDestructive,
      idempotentHint: target === 'deal' && makes === undefined,
      openWorldHint: false,
    },
    isFor: (caller) => hasRight(caller, right) || (ownNeedsNoRight && actsForItsUser(caller)),
    decode: (values) => decodeCall(command, Object.entries(values)),
  }
}

function decodeCall(command: Command, values: readonly (readonly [string, unknown])[]): CommandInvocation {
  const { commandId, ifMatch, validateOnly = false } = checkValue(options, Object.fromEntries(values.filter(isOption)))
  const rest = Object.fromEntries(values.filter((value) => !isOption(value)))
  const { dealId, params } = dealIdInBody(rest, command)
  return {
    kind: 'command',
    bound: command.bind(params, ''),
    dealId,
    commandId,
    validateOnly,
    preconditions: { ifMatch: ifMatch === undefined ? undefined : ifMatchIn(ifMatch), ifNoneMatch: undefined },
    encode: ({ deal, changed, replayed, useCases, shown }) =>
      jsonResponse(200, {
        dealId: deal.id,
        etag: etagOf(deal),
        changed,
        replayed,
        validateOnly,
        useCases,
        ...(shown && deal.deletedAt === null && { deal: representDeal(shown.deal) }),
      }),
  }
}

/** A route that reads, with the description of one of its operations. */
interface Reading {
  readonly route: StyleRoute
  readonly operation: Operation
}

/** Each query once: styles that have the same one say the same summary. Streams are no tools. */
function readings(routes: readonly StyleRoute[]): Reading[] {
  const all = routes.flatMap((route) =>
    route.methods.includes('GET') ? route.describe('GET').map((operation) => ({ route, operation })) : [],
  )
  const isFirst = ({ operation }: Reading, at: number) =>
    all.findIndex((other) => other.operation.summary === operation.summary) === at
  return all.filter((one, at) => isFirst(one, at) && one.operation.responses[200]?.mediaType === undefined)
}

/** In the query of a request every value is a text. */
const textValues = z.record(
  z.string(),
  // Half a pair of surrogates is no text that a path can have.
  z.union([z.string().regex(/^\P{Surrogate}*$/u), z.number(), z.boolean()]).transform(String),
)

function toolOfReading({ route, operation }: Reading): Tool {
  const { id, summary, description, right, query, pathParameters = {} } = operation
  const template = operation.path ?? route.path.replace(/:(\w+)/g, '{$1}')
  const inPath = [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const ofQuery = query ? jsonSchemaOf(query) : { properties: {} }
  return {
    name: snakeCase(id),
    title: summary,
    description,
    inputSchema: {
      type: 'object',
      properties: {
        ...Object.fromEntries(inPath.map((name) => [name, pathParameters[name] ?? { type: 'string' }])),
        ...Object(ofQuery.properties),
      },
      required: inPath,
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    isFor: (caller) => right === undefined || hasRight(caller, right),
    decode: (values, request) => route.decode(requestOf(checkValue(textValues, values), { route, template }, request)),
  }
}

/** The request that a call stands for. `template` is the path in the syntax of OpenAPI. */
function requestOf(
  values: Readonly<Record<string, string>>,
  { route, template }: { readonly route: StyleRoute; readonly template: string },
  request: HttpRequest,
): HttpRequest {
  const segments = template.split('/').map((segment) => {
    const [, name] = /^\{(\w+)\}$/.exec(segment) ?? []
    return name === undefined ? segment : (values[name] ?? '')
  })
  const named = route.path.split('/').map((segment, at) => [segment, segments[at] ?? ''] as const)
  const inPath = named.filter(([segment]) => segment.startsWith(':'))
  return createInnerRequest(request, {
    method: 'GET',
    path: segments.map(encodeURIComponent).join('/'),
    pathParameters: Object.fromEntries(inPath.map(([segment, value]) => [segment.slice(1), value])),
    query: new URLSearchParams(Object.entries(values).filter(([name]) => !template.includes(`{${name}}`))),
  })
}
