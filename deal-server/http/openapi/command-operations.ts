/** Builds the descriptions of the operations that send commands. Each route has its description beside it. */
import type { DescribedBody, DescribedResponse, Operation } from '../../../shared/platform/http/operation.ts'
import { ref } from '../../../shared/platform/openapi/json-schema.ts'
import { bodyProblems } from '../../../shared/platform/openapi/problem-responses.ts'
import { callerProblems } from '../../../shared/protocol/openapi/caller-problems.ts'
import type { Command } from '../../use-cases/define-use-case.ts'
import { commandParameters } from '../requests/command-options.ts'
import { needsBody, parametersName } from './command-schemas.ts'
import { idOfDeal } from './parameters.ts'

/** The header fields that describe an outcome, in every style. */
export const outcomeFields = ['ETag', 'Deal-Changed', 'Idempotent-Replayed', 'Deal-Validated-Only'] as const

/** The same, for responses with the deal. */
export const dealFields = [...outcomeFields, 'Preference-Applied'] as const

/** 200 with the deal. */
export const theDeal: DescribedResponse = { description: 'The deal.', schema: ref('Deal'), headers: dealFields }

/** 201 with the deal. */
export const created: DescribedResponse = {
  description: 'The new deal; no body with `Prefer: return=minimal`, or without the right `deal.read`.',
  schema: ref('Deal'),
  headers: [...dealFields, 'Location'],
}

/** 204 instead of 200. */
export const withoutBody: DescribedResponse = {
  description: 'With `Prefer: return=minimal`, or without the right `deal.read`.',
  headers: dealFields,
}

const deleted: DescribedResponse = { description: 'The deal is deleted.', headers: outcomeFields }

/** The problem codes that every command can get. */
const problemsOfAll = [
  ...callerProblems,
  ...bodyProblems,
  'invalid-parameter',
  'missing-right',
  'not-found',
  'deal-mismatch',
  'precondition-failed',
  'command-in-progress',
  'command-id-reused',
  'command-expired',
]

/** The problem codes of these commands. */
export const commandProblems = (involved: readonly Command[]): readonly string[] => [
  ...problemsOfAll,
  ...involved.flatMap(({ refusals }) => refusals),
]

/** The query parameters and header fields that every command reads. */
export const commandInput = {
  query: commandParameters,
  headers: ['IdempotencyKey', 'IfMatch', 'IfNoneMatch'],
} as const

/** The same, for responses with the deal. */
export const dealCommandInput = { ...commandInput, headers: [...commandInput.headers, 'Prefer'] } as const

/** A command whose parameters are the body. */
export interface CommandPath {
  readonly command: Command
  readonly id: string
  readonly tag: string
  readonly description?: string
}

/** Describes a command whose response is the deal. */
export const describeCommand = ({ command, ...path }: CommandPath): Operation => ({
  ...path,
  ...dealCommandInput,
  summary: command.summary,
  pathParameters: { id: idOfDeal },
  body: parametersBody(command),
  responses: answersOf(command),
  problems: commandProblems([command]),
})

/** Describes a command that adds something to the deal: 201. */
export function describeAddition(path: CommandPath): Operation {
  const operation = describeCommand(path)
  const added = { ...theDeal, description: 'The deal with what was added to it.' }
  return { ...operation, responses: { ...operation.responses, 201: added } }
}

const parametersBody = (command: Command): DescribedBody => ({
  schema: ref(parametersName(command)),
  required: needsBody(command),
})

function answersOf({ name, target }: Command): Operation['responses'] {
  if (target === 'collection') return { 201: created }
  return name === 'DeleteDeal' ? { 204: deleted } : { 200: theDeal, 204: withoutBody }
}

const repeatable = 'A PUT can be repeated: it needs `taskId` or `Idempotency-Key`.'

/** Describes a command in styles 1 and 2: each command has its own path segment. */
export const describeSubResource = (
  command: Command,
  method: string,
  style: { tag: string; kind: string },
): Operation =>
  describeCommand({
    command,
    id: `${method.toLowerCase()}${command.name}${style.kind}`,
    tag: style.tag,
    ...(command.makes !== undefined && method === 'PUT' ? { description: repeatable } : {}),
  })
