/**
 * Styles 5 and 6: commands as resources; the client chooses their ids. `PUT /commands/{command_id}` with `{deal,
 * action, params}`, and `PUT /rest/v1/deals/{deal_id}/commands/{command_id}` with `{action, params}`. Both share their
 * ids.
 */

import * as z from 'zod'
import { readJson } from '../../../shared/platform/http/content/json-body.ts'
import type { DescribedBody, Operation } from '../../../shared/platform/http/operation.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { jsonResponse } from '../../../shared/platform/http/response.ts'
import { ref } from '../../../shared/platform/openapi/json-schema.ts'
import { checkValue } from '../../../shared/platform/problems/check-value.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { quoteOddAmounts } from '../../domain/money.ts'
import { commandInput, commandProblems, outcomeFields, waits } from '../openapi/command-operations.ts'
import { dealCommandBody, globalCommandBody } from '../openapi/command-schemas.ts'
import { idOfCommand, idOfDeal } from '../openapi/parameters.ts'
import { representSucceeded } from '../representations/command-resource.ts'
import { outcomeHeaders } from '../representations/responses.ts'
import { commandOptionsOf, requireCommandId } from '../requests/command-options.ts'
import { dealIdInBody, dealIdInPath, withoutRepeatedId } from '../requests/deal-target.ts'
import type { Invocation, StyleRoute } from '../requests/invocation.ts'
import {
  type CommandReadOptions,
  decodeCommandList,
  decodeCommandRead,
  describeCommandList,
  describeCommandRead,
} from './command-reads.ts'
import { actionSchema, commandOfAction } from './single-update.ts'

const inDeal = '/rest/v1/deals/:id/commands'
const globalStyle = 'global-command-collection'
const perDealStyle = 'per-deal-command-collection'

const putOperation = (id: string, style: string, body: DescribedBody): Operation => ({
  ...commandInput,
  id,
  tags: [style],
  summary: 'Send a command under an id of your own',
  description:
    'The same request sent again gets the same response, and the command runs once. A refusal is a problem document.',
  pathParameters: { id: idOfDeal, commandId: idOfCommand },
  body,
  responses: {
    201: {
      description: 'The command succeeded.',
      schema: ref('SucceededCommand'),
      headers: [...outcomeFields, 'Location'],
    },
    202: waits,
  },
  problems: ['deal-mismatch', 'command-in-progress', 'command-expired', ...commandProblems([])],
})

/** The routes: PUT and GET of a command in both collections, and the list of a deal's commands. */
export const commandCollectionRoutes = (options: CommandReadOptions): StyleRoute[] => [
  {
    style: globalStyle,
    methods: ['PUT'],
    path: '/commands/:commandId',
    describe: () => [putOperation('putCommand', globalStyle, globalCommandBody)],
    decode: decodeGlobal,
  },
  {
    style: globalStyle,
    methods: ['GET'],
    path: '/commands/:commandId',
    describe: () => [describeCommandRead('getCommand', globalStyle)],
    decode: (request) => decodeCommandRead(request, options),
  },
  {
    style: perDealStyle,
    methods: ['PUT'],
    path: `${inDeal}/:commandId`,
    describe: () => [putOperation('putDealCommand', perDealStyle, dealCommandBody)],
    decode: decodePerDeal,
  },
  {
    style: perDealStyle,
    methods: ['GET'],
    path: `${inDeal}/:commandId`,
    describe: () => [describeCommandRead('getDealCommand', perDealStyle)],
    decode: (request) => decodeCommandRead(request, options, dealIdInPath(request)),
  },
  {
    style: perDealStyle,
    methods: ['GET'],
    path: inDeal,
    describe: () => [describeCommandList(perDealStyle)],
    decode: (request) => decodeCommandList(request, options),
  },
]

/** The body of style 5. */
export const globalSchema = actionSchema.extend({ deal: z.string().optional() })

async function decodeGlobal(request: HttpRequest): Promise<Invocation> {
  const { deal, action, params } = checkValue(globalSchema, await readJson(request, quoteOddAmounts))
  const command = commandOfAction(action)
  const target = dealIdInBody(params, command, { at: '/params', deal })
  return namedCommand(request, { action, params: target.params, dealId: target.dealId })
}

async function decodePerDeal(request: HttpRequest): Promise<Invocation> {
  const dealId = dealIdInPath(request)
  const body = withoutRepeatedId(await readJson(request, quoteOddAmounts), dealId)
  const { deal, action, params } = checkValue(globalSchema, body)
  if (deal !== undefined && deal.toLowerCase() !== dealId) {
    throw new ProblemError('deal-mismatch', 'The deal in the body is not the one in the path.')
  }
  return namedCommand(request, { action, params: withoutRepeatedId(params, dealId), dealId })
}

function namedCommand(
  request: HttpRequest,
  { action, params, dealId }: { action: string; params: unknown; dealId: string | undefined },
): Invocation {
  const options = commandOptionsOf(request)
  const commandId = requireCommandId(request.pathParameters.commandId ?? '')
  if (options.commandId !== undefined && options.commandId !== commandId) {
    throw new ProblemError('invalid-parameter', 'Idempotency-Key is not the command id in the path.')
  }
  return {
    kind: 'command',
    bound: commandOfAction(action).bind(params, '/params'),
    dealId,
    ...options,
    commandId,
    encode: (command) => {
      const { deal, changed, shown } = command
      const view = { commandId, ...command.record }
      const resource = representSucceeded(view, { deal, changed, events: shown?.events })
      return jsonResponse(201, resource, { ...outcomeHeaders(command), location: request.path.replace(/\/$/, '') })
    },
  }
}
