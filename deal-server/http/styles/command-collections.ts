/**
 * Styles 5 and 6: commands as resources that the client names, `PUT /commands/{command_id}` with `{deal, action, params}`, and `PUT
 * /rest/v1/deals/{deal_id}/commands/{command_id}` with `{action, params}`. One space of ids for both.
 */

import { z } from 'zod'
import { jsonAnswer } from '../../../shared/platform/http/answer.ts'
import type { HttpCall } from '../../../shared/platform/http/call.ts'
import { checkValue } from '../../../shared/platform/http/content/check-value.ts'
import { readJson } from '../../../shared/platform/http/content/json-body.ts'
import { noParameters, pageParameters, readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { Lists } from '../../../shared/platform/http/pagination/lists.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'
import type { ProblemDocument } from '../../../shared/platform/problems/problem-document.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import type { CommandRecord } from '../../commands/ports.ts'
import { noSuchDeal } from '../../commands/presence.ts'
import type { DealReader } from '../../queries/ports.ts'
import { mayReadPast } from '../../queries/presence.ts'
import { readingRight } from '../../use-cases/define-use-case.ts'
import { collectionOperations } from '../openapi/collection-operations.ts'
import { outcomeHeaders, privateHeaders } from '../representations/answers.ts'
import {
  type CommandView,
  representExpired,
  representRefused,
  representSucceeded,
} from '../representations/command-resource.ts'
import { requireCommandId } from '../requests/command-id.ts'
import { commandOptionsOf } from '../requests/command-options.ts'
import { dealIdInBody, dealIdInPath, withoutRepeatedId } from '../requests/deal-target.ts'
import type { Invocation, StyleRoute } from '../requests/invocation.ts'
import { commandsScope } from '../requests/list-scopes.ts'
import { actionSchema, commandOfAction } from './single-update.ts'

/** How a stored refusal reads. */
export type RenderProblem = (refusal: {
  code: string
  detail: string
  members: Readonly<Record<string, unknown>>
}) => ProblemDocument

interface CommandCollectionOptions {
  readonly renderProblem: RenderProblem
  readonly lists: Lists
}

const inDeal = '/rest/v1/deals/:id/commands'
const globalStyle = 'global-command-collection'
const perDealStyle = 'per-deal-command-collection'

/** PUT and GET of a command in either collection, and the list of a deal's commands. */
export const commandCollectionRoutes = ({ renderProblem, lists }: CommandCollectionOptions): StyleRoute[] => [
  {
    style: globalStyle,
    methods: ['PUT'],
    path: '/commands/:commandId',
    describe: () => [collectionOperations.putGlobal()],
    decode: decodeGlobal,
  },
  {
    style: globalStyle,
    methods: ['GET'],
    path: '/commands/:commandId',
    describe: () => [collectionOperations.getGlobal()],
    decode: (call) => decodeRead(call, renderProblem),
  },
  {
    style: perDealStyle,
    methods: ['PUT'],
    path: `${inDeal}/:commandId`,
    describe: () => [collectionOperations.putInDeal()],
    decode: decodePerDeal,
  },
  {
    style: perDealStyle,
    methods: ['GET'],
    path: `${inDeal}/:commandId`,
    describe: () => [collectionOperations.getInDeal()],
    decode: (call) => decodeRead(call, renderProblem, dealIdInPath(call)),
  },
  {
    style: perDealStyle,
    methods: ['GET'],
    path: inDeal,
    describe: () => [collectionOperations.list()],
    decode: (call) => decodeList(call, { renderProblem, lists }),
  },
]

const globalSchema = actionSchema.extend({ deal: z.string().optional() })

async function decodeGlobal(call: HttpCall): Promise<Invocation> {
  const { deal, action, params } = checkValue(globalSchema, await readJson(call))
  const command = commandOfAction(action)
  const target = dealIdInBody(params, command, { at: '/params', deal })
  return namedCommand(call, { action, params: target.params, dealId: target.dealId })
}

async function decodePerDeal(call: HttpCall): Promise<Invocation> {
  const dealId = dealIdInPath(call)
  const body = withoutRepeatedId(await readJson(call), dealId)
  const { deal, action, params } = checkValue(globalSchema, body)
  if (deal !== undefined && deal.toLowerCase() !== dealId) {
    throw new Refused('deal-mismatch', 'The deal in the body is not the one in the path.')
  }
  return namedCommand(call, { action, params: withoutRepeatedId(params, dealId), dealId })
}

function namedCommand(
  call: HttpCall,
  { action, params, dealId }: { action: string; params: unknown; dealId: string | undefined },
): Invocation {
  const options = commandOptionsOf(call)
  const commandId = requireCommandId(call.pathParameters.commandId ?? '')
  if (options.commandId !== undefined && options.commandId !== commandId) {
    throw new Refused('invalid-parameter', 'Idempotency-Key is not the command id in the path.')
  }
  return {
    kind: 'command',
    bound: commandOfAction(action).bind(params, '/params'),
    dealId,
    ...options,
    commandId,
    encode: (answered) => {
      const { deal, changed, shown } = answered
      const view = { commandId, ...answered.record }
      const resource = representSucceeded(view, { deal, changed, events: shown?.events })
      return jsonAnswer(201, resource, { ...outcomeHeaders(answered), location: call.path.replace(/\/$/, '') })
    },
  }
}

function decodeRead(call: HttpCall, renderProblem: RenderProblem, dealId?: string): Invocation {
  const commandId = requireCommandId(call.pathParameters.commandId ?? '')
  readQuery(call, noParameters)
  return {
    kind: 'query',
    rights: () => [readingRight],
    answer: async (reader, caller) => {
      const { command } = await reader.load(dealId, { principalId: caller.userId, commandId })
      if (!command || (dealId !== undefined && command.dealId !== dealId)) {
        throw new Refused('not-found', 'You have sent no command of this id.', { members: { commandId } })
      }
      const asked = { dealId: command.dealId, caller }
      if (!(await mayReadPast(reader, asked))) throw noSuchDeal(undefined, asked)
      return jsonAnswer(200, represent(command, renderProblem), privateHeaders)
    },
  }
}

function decodeList(call: HttpCall, { renderProblem, lists }: CommandCollectionOptions): Invocation {
  const dealId = dealIdInPath(call)
  const list = lists.open(call, commandsScope(dealId), readQuery(call, pageParameters))
  return {
    kind: 'query',
    rights: () => ['deal.history.read'],
    answer: async (reader, caller) => {
      const [page, mayRead] = await Promise.all([
        reader.listCommands(dealId, list.page),
        mayReadPast(reader, { dealId, caller }),
      ])
      if (!mayRead) throw noSuchDeal(undefined, { dealId, caller })
      // A deal that was purged has left its history.
      if (page.items.length === 0) await requireKnown(reader, { dealId, caller })
      return list.answer(page, {
        represent: (command) => represent(command, renderProblem),
        headers: privateHeaders,
      })
    },
  }
}

/** @throws Refused `not-found` for a deal that there never was */
async function requireKnown(reader: DealReader, asked: { dealId: string; caller: Caller }): Promise<void> {
  const { deal, purged } = await reader.load(asked.dealId, undefined, { forCreation: true })
  if (deal === undefined && !purged) throw noSuchDeal(undefined, asked)
}

function represent(command: CommandRecord, renderProblem: RenderProblem) {
  const view: CommandView = { commandId: command.key.commandId, ...command }
  const { outcome } = command
  if (outcome === undefined) return representExpired(view)
  return outcome.state === 'succeeded'
    ? representSucceeded(view, outcome)
    : representRefused(view, renderProblem(outcome))
}
