/** Builds the descriptions of the operations that send commands. Each route has its description beside it. */
import type { DescribedBody, DescribedResponse, Operation } from '../../../shared/platform/http/operation.ts'
import { ref } from '../../../shared/platform/openapi/json-schema.ts'
import type { Command } from '../../use-cases/define-use-case.ts'
import { commandParameters } from '../requests/command-options.ts'
import { needsBody, parametersName, repeatableExampleOf } from './command-schemas.ts'
import { idOfDeal } from './parameters.ts'

/** The header fields that describe an outcome, in every style. */
export const outcomeFields = ['ETag', 'Deal-Changed', 'Idempotent-Replayed', 'Deal-Validated-Only'] as const

/** The same, for responses with the deal. */
export const dealHeaderFields = [...outcomeFields, 'Preference-Applied'] as const

/** 200 with the deal. */
export const theDeal: DescribedResponse = { description: 'The deal.', schema: ref('Deal'), headers: dealHeaderFields }

/** 201 with the deal. */
export const createdResponse: DescribedResponse = {
  description: 'The new deal; no body with `Prefer: return=minimal`, or without the right `deal.read`.',
  schema: ref('Deal'),
  headers: [...dealHeaderFields, 'Location'],
}

/** 202 for a command that waits. */
export const waits: DescribedResponse = {
  description: 'The application may only propose: the command waits until somebody approves it.',
  schema: ref('ProposedCommand'),
  headers: ['Location'],
}

const withoutBody: DescribedResponse = {
  description: 'With `Prefer: return=minimal`, or without the right `deal.read`.',
  headers: dealHeaderFields,
}

const deleted: DescribedResponse = { description: 'The deal is deleted.', headers: outcomeFields }

/** The problem codes of a command that a client should know: those of its decision, and those of every command. */
export const commandProblems = (refusals: readonly string[]): readonly string[] => [
  ...refusals,
  'not-found',
  'precondition-failed',
  'command-id-reused',
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
  /** The style of the path. */
  readonly style: string
  /** Added to the description of the use case. */
  readonly note?: string
  /** A body to send instead of the example of the parameters. */
  readonly example?: unknown
}

/** The description of a use case, for its operation in any style. */
export const describeUseCase = ({ right, refusals }: Command, note = ''): string => {
  const refused =
    refusals.length === 0 ? '' : ` It can be refused: ${refusals.map((code) => `\`${code}\``).join(', ')}.`
  return `Needs the right \`${right}\`.${refused} A repetition that would change nothing succeeds.${note && ` ${note}`}`
}

/** Describes a command whose response is the deal. */
export const describeCommand = ({ command, id, style, note, example }: CommandPath): Operation => ({
  ...dealCommandInput,
  id,
  description: describeUseCase(command, note),
  tags: [style, command.name],
  summary: command.summary,
  pathParameters: { id: idOfDeal },
  body: { ...parametersBody(command), ...(example === undefined ? {} : { example }) },
  responses: answersOf(command),
  problems: commandProblems(command.refusals),
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
  if (target === 'collection') return { 201: createdResponse, 202: waits }
  return name === 'DeleteDeal' ? { 202: waits, 204: deleted } : { 200: theDeal, 202: waits, 204: withoutBody }
}

const repeatable = 'A PUT can be repeated: it needs `taskId` or `Idempotency-Key`.'

/** Describes a command in styles 1 and 2: each command has its own path segment. */
export function describeSubResource(command: Command, method: string, style: { tag: string; kind: string }): Operation {
  const path = { command, id: `${method.toLowerCase()}${command.name}${style.kind}`, style: style.tag }
  if (command.makes === undefined || method !== 'PUT') return describeCommand(path)
  return describeCommand({ ...path, note: repeatable, example: repeatableExampleOf(command) })
}
