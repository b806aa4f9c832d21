/** Reads of commands: one command of the caller, and all commands of a deal. */

import { noParameters, pageParameters, readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { Operation } from '../../../shared/platform/http/operation.ts'
import type { Lists } from '../../../shared/platform/http/pagination/lists.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { jsonResponse } from '../../../shared/platform/http/response.ts'
import { ref } from '../../../shared/platform/openapi/json-schema.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { ProblemDocument } from '../../../shared/platform/problems/problem-document.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import type { CommandRecord } from '../../commands/ports.ts'
import { noSuchDeal } from '../../commands/presence.ts'
import { readingRight } from '../../domain/sight.ts'
import type { DealReader } from '../../queries/ports.ts'
import { dealHistoryQuery } from '../../queries/queries.ts'
import { mayReadPast } from '../../queries/read-past.ts'
import { idOfCommand, idOfDeal } from '../openapi/parameters.ts'
import { describeList, describeRead } from '../openapi/read-operations.ts'
import {
  type CommandView,
  representExpired,
  representRefused,
  representSucceeded,
} from '../representations/command-resource.ts'
import { privateHeaders } from '../representations/responses.ts'
import { requireCommandId } from '../requests/command-options.ts'
import { commandsScope } from '../requests/deal-lists.ts'
import { dealIdInPath } from '../requests/deal-target.ts'
import type { Invocation } from '../requests/invocation.ts'

/** Renders a stored refusal as a problem document. */
export type RenderProblem = (refusal: {
  code: string
  detail: string
  members: Readonly<Record<string, unknown>>
}) => ProblemDocument

/** The parts that reads of commands use. */
export interface CommandReadOptions {
  readonly renderProblem: RenderProblem
  readonly lists: Lists
}

/** Describes GET of a command. */
export const describeCommandRead = (id: string, style: string): Operation =>
  describeRead({
    id,
    right: readingRight,
    tags: [style],
    summary: 'Read the outcome of a command of your own',
    description: 'What it asked for, and how it ended. When the outcome is no longer kept, the state is `expired`.',
    pathParameters: { id: idOfDeal, commandId: idOfCommand },
    success: { description: 'The command.', schema: ref('CommandResource') },
  })

/** Describes GET of the commands of a deal. */
export const describeCommandList = (style: string): Operation =>
  describeList({
    id: 'listDealCommands',
    right: dealHistoryQuery.right,
    tags: [style],
    summary: 'List the commands of a deal',
    description: 'The commands that had an id, of all users. Needs the right `deal.history.read`.',
    pathParameters: { id: idOfDeal, commandId: idOfCommand },
    success: { description: 'Commands, the oldest first.', schema: ref('CommandPage') },
  })

/** Decodes GET of a command of the caller. `dealId` is set below a deal. */
export function decodeCommandRead(
  request: HttpRequest,
  { renderProblem }: CommandReadOptions,
  dealId?: string,
): Invocation {
  const commandId = requireCommandId(request.pathParameters.commandId ?? '')
  readQuery(request, noParameters)
  return {
    kind: 'query',
    rights: () => [readingRight],
    answer: async (reader, caller) => {
      const { command } = await reader.load(dealId, { principalId: caller.userId, commandId })
      if (!command || (dealId !== undefined && command.dealId !== dealId)) {
        throw new ProblemError('not-found', 'You have sent no command of this id.', { members: { commandId } })
      }
      const read = { dealId: command.dealId, caller }
      if (!(await mayReadPast(reader, read))) throw noSuchDeal(undefined, read)
      return jsonResponse(200, represent(command, renderProblem), privateHeaders)
    },
  }
}

/** Decodes GET of the commands of the deal in the path. */
export function decodeCommandList(request: HttpRequest, { renderProblem, lists }: CommandReadOptions): Invocation {
  const dealId = dealIdInPath(request)
  const list = lists.open(request, commandsScope(dealId), readQuery(request, pageParameters))
  return {
    kind: 'query',
    rights: () => [dealHistoryQuery.right],
    answer: async (reader, caller) => {
      const [page, mayRead] = await Promise.all([
        reader.listCommands(dealId, list.page),
        mayReadPast(reader, { dealId, caller }),
      ])
      if (!mayRead) throw noSuchDeal(undefined, { dealId, caller })
      // A purged deal still has a history.
      if (page.items.length === 0) await requireExistedOnce(reader, { dealId, caller })
      return list.answer(page, {
        represent: (command) => represent(command, renderProblem),
        headers: privateHeaders,
      })
    },
  }
}

/** @throws ProblemError `not-found` for a deal that never existed */
async function requireExistedOnce(reader: DealReader, read: { dealId: string; caller: Caller }): Promise<void> {
  const { deal, purged } = await reader.load(read.dealId, undefined, { forCreation: true })
  if (deal === undefined && !purged) throw noSuchDeal(undefined, read)
}

function represent(command: CommandRecord, renderProblem: RenderProblem) {
  const view: CommandView = { commandId: command.key.commandId, ...command }
  const { outcome } = command
  if (outcome === undefined) return representExpired(view)
  return outcome.state === 'succeeded'
    ? representSucceeded(view, outcome)
    : representRefused(view, renderProblem(outcome))
}
