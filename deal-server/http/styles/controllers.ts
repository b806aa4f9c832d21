/**
 * Style 7: a command controller, `POST /command/{command_name}/` with the arguments as one object; the response is 200
 * without a body. And a query controller, `GET /query/{dto_name}/{query_parameter}`; the response is a list, or 404 for
 * an empty result.
 */

import { readJson } from '../../../shared/platform/http/content/json-body.ts'
import type { Operation } from '../../../shared/platform/http/operation.ts'
import type { Lists } from '../../../shared/platform/http/pagination/lists.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { emptyResponse } from '../../../shared/platform/http/response.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { quoteOddAmounts } from '../../domain/money.ts'
import type { Command } from '../../use-cases/define-use-case.ts'
import { commandNamed, commandNames, commands } from '../../use-cases/index.ts'
import { commandInput, commandProblems, describeUseCase, outcomeFields, waits } from '../openapi/command-operations.ts'
import { controllerArguments, needsBody } from '../openapi/command-schemas.ts'
import { pathOf } from '../representations/represent-deal.ts'
import { outcomeHeaders } from '../representations/responses.ts'
import { commandOptionsOf } from '../requests/command-options.ts'
import { dealIdInBody } from '../requests/deal-target.ts'
import type { Invocation, StyleRoute } from '../requests/invocation.ts'
import { isUnchanged, preconditionsOf } from '../requests/preconditions.ts'
import { describeQueryController, queryControllers } from './query-controllers.ts'

/** One route for all commands, and one for all queries. */
export const controllerRoutes = (lists: Lists): readonly StyleRoute[] => [
  {
    style: 'command-controller',
    methods: ['POST'],
    path: '/command/:commandName',
    describe: () => commands.map(describeCommandController),
    decode: decodeCommand,
  },
  {
    style: 'query-controller',
    methods: ['GET'],
    path: '/query/:dtoName/:parameter',
    describe: () => [...queryControllers].map(describeQueryController),
    decode: (request) => decodeQuery(request, lists),
  },
]

/** In the OpenAPI document, each command has its own path. */
const describeCommandController = (command: Command): Operation => ({
  ...commandInput,
  path: `/command/${command.name}/`,
  id: `invoke${command.name}`,
  summary: command.summary,
  description: describeUseCase(command, 'The response has no body.'),
  tags: ['command-controller', command.name],
  body: {
    schema: controllerArguments(command),
    required: command.target === 'deal' || needsBody(command),
  },
  responses: { 200: { description: 'Done. No body.', headers: [...outcomeFields, 'Location'] }, 202: waits },
  problems: commandProblems(command.refusals),
})

async function decodeCommand(request: HttpRequest): Promise<Invocation> {
  const command = commandNamed(request.pathParameters.commandName ?? '')
  if (!command) {
    throw new ProblemError('unknown-command', `There are the commands ${commandNames.join(', ')}.`)
  }
  const { dealId, params } = dealIdInBody(await readJson(request, quoteOddAmounts), command)
  return {
    kind: 'command',
    bound: command.bind(params, ''),
    dealId,
    ...commandOptionsOf(request),
    encode: (executed) => emptyResponse(200, { ...outcomeHeaders(executed), location: pathOf(executed.deal) }),
  }
}

function decodeQuery(request: HttpRequest, lists: Lists): Invocation {
  const { dtoName = '', parameter = '' } = request.pathParameters
  const controller = queryControllers.get(dtoName)
  if (!controller)
    throw new ProblemError('unknown-query', `There are the queries ${[...queryControllers.keys()].join(', ')}.`)
  const query = controller.open(request, parameter, lists)
  const preconditions = preconditionsOf(request)
  return {
    kind: 'query',
    rights: query.rights,
    answer: async (reader, caller, findUserId) => {
      const answer = await query.answer(reader, caller, findUserId)
      if (answer === undefined) throw new ProblemError('not-found', 'The query found nothing.')
      return isUnchanged(answer.headers.etag, preconditions) ? { ...answer, status: 304, body: null } : answer
    },
  }
}
