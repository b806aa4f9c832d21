/** The operations of the styles in which each command has a path, or attributes stand for commands. */

import type { DescribedAnswer, DescribedBody, Operation } from '../../../shared/platform/http/operation.ts'
import { ref } from '../../../shared/platform/openapi/json-schema.ts'
import { bodyProblems } from '../../../shared/platform/openapi/problem-answers.ts'
import { callerProblems } from '../../../shared/protocol/openapi/caller-problems.ts'
import type { Command } from '../../use-cases/define-use-case.ts'
import { commands } from '../../use-cases/index.ts'
import { attributeCommands } from '../../use-cases/update-deal/update-deal.ts'
import { commandParameters } from '../requests/command-options.ts'
import { controllerArguments, dealUpdateBody, needsBody, parametersName } from './command-schemas.ts'
import { idOfDeal } from './path-parameters.ts'
import { refusalsOf, updateRefusals } from './refusals.ts'

/** What every style says of an outcome. */
export const outcomeHeaders = ['ETag', 'Deal-Changed', 'Idempotent-Replayed', 'Deal-Validated-Only'] as const

const dealHeaders = [...outcomeHeaders, 'Preference-Applied']
const updateHeaders = [...dealHeaders, 'Deal-Use-Cases']
const theDeal: DescribedAnswer = { description: 'The deal.', schema: ref('Deal'), headers: dealHeaders }
const created: DescribedAnswer = {
  description: 'The new deal; no body with `Prefer: return=minimal`, or without the right `deal.read`.',
  schema: ref('Deal'),
  headers: [...dealHeaders, 'Location'],
}
const withoutBody: DescribedAnswer = {
  description: 'With `Prefer: return=minimal`, or without the right `deal.read`.',
  headers: dealHeaders,
}
const deleted: DescribedAnswer = { description: 'The deal is deleted.', headers: outcomeHeaders }

/** What any of `involved` may be refused for. */
export const commandProblems = (involved: readonly Command[]): readonly string[] => [
  ...callerProblems,
  ...bodyProblems,
  ...['invalid-parameter', 'missing-right', 'not-found', 'deal-mismatch', 'precondition-failed'],
  ...['command-in-progress', 'command-id-reused', 'command-expired'],
  ...refusalsOf(involved),
]

/** What every command reads besides its body. */
export const commandInput = {
  query: commandParameters,
  headers: ['IdempotencyKey', 'IfMatch', 'IfNoneMatch', 'Prefer'],
} as const

/** A command whose parameters are the body. */
export interface CommandPath {
  readonly command: Command
  readonly id: string
  readonly tag: string
  readonly description?: string
}

/** A command that is answered with the deal. */
export const describeCommand = ({ command, ...path }: CommandPath): Operation => ({
  ...path,
  ...commandInput,
  summary: command.summary,
  pathParameters: { id: idOfDeal },
  body: parametersBody(command),
  answers: answersOf(command),
  problems: commandProblems([command]),
})

/** The same, where something new comes of it: 201. */
export const describeAddition = (path: CommandPath): Operation => {
  const operation = describeCommand(path)
  const added = { ...theDeal, description: 'The deal with what was added to it.' }
  return { ...operation, answers: { ...operation.answers, 201: added } }
}

const parametersBody = (command: Command): DescribedBody => ({
  schema: ref(parametersName(command)),
  required: needsBody(command),
})

function answersOf({ name, target }: Command): Operation['answers'] {
  if (target === 'collection') return { 201: created }
  return name === 'DeleteDeal' ? { 204: deleted } : { 200: theDeal, 204: withoutBody }
}

const repeatable = 'A PUT can be repeated: it needs `taskId` or `Idempotency-Key`.'

/** Styles 1 and 2: each command under its own segment. */
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

/** Styles 3 and 4, on one path. */
export const describeDealUpdate = (): Operation => ({
  ...commandInput,
  id: 'updateDeal',
  summary: 'Run a use case by its name, or send the whole deal, changed',
  description:
    'A body with the member `action` names a use case. Any other is the deal as it should be: each difference becomes a use case, all of them or none. `name`, `price` and `held` are required; other absent members are unchanged.',
  tag: 'deal-update',
  pathParameters: { id: idOfDeal },
  body: { schema: dealUpdateBody, required: true },
  answers: {
    200: { ...theDeal, headers: updateHeaders },
    201: created,
    204: {
      description: 'With `Prefer: return=minimal`, without the right `deal.read`, or the deal is deleted.',
      headers: updateHeaders,
    },
  },
  problems: [
    ...commandProblems(commands),
    ...updateRefusals,
    ...['ambiguous-update', 'incomplete-representation', 'precondition-required'],
  ],
})

/** The changed members alone. */
export const describeDealPatch = (): Operation => ({
  ...commandInput,
  id: 'patchDeal',
  summary: 'Change attributes of a deal',
  description: 'Members that are left out stay as they are (RFC 7396); what differs becomes use cases, all or none.',
  tag: 'deal-update',
  pathParameters: { id: idOfDeal },
  body: {
    schema: ref('DealAttributes'),
    required: false,
    mediaTypes: ['application/merge-patch+json', 'application/json'],
  },
  answers: {
    200: { ...theDeal, headers: updateHeaders },
    204: { ...withoutBody, headers: updateHeaders },
  },
  problems: [...commandProblems(attributeCommands), ...updateRefusals],
})

/** The command controller: one path for each command. */
export const describeController = (command: Command): Operation => ({
  query: commandInput.query,
  headers: ['IdempotencyKey', 'IfMatch', 'IfNoneMatch'],
  path: `/command/${command.name}/`,
  id: `invoke${command.name}`,
  summary: command.summary,
  tag: 'command-controller',
  body: {
    schema: controllerArguments(command),
    required: command.target === 'deal' || needsBody(command),
  },
  answers: { 200: { description: 'Done. No body.', headers: [...outcomeHeaders, 'Location'] } },
  problems: commandProblems([command]),
})
