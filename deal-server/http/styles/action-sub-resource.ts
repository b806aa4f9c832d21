/**
 * Style 1: a verb below the deal, `PUT` or `POST /rest/v1/deals/{id}/hold`, with the parameters in the body. The
 * response is the deal. Most styles decode and answer alike, so they use these functions.
 */

import { readJson } from '../../../shared/platform/http/content/json-body.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { quoteOddAmounts } from '../../domain/money.ts'
import type { BoundCommand, Command } from '../../use-cases/define-use-case.ts'
import { describeSubResource } from '../openapi/command-operations.ts'
import { dealResponse } from '../representations/responses.ts'
import { commandOptionsOf, prefersMinimal } from '../requests/command-options.ts'
import { dealIdInPath, requireRepeatable, withoutRepeatedId } from '../requests/deal-target.ts'
import type { CommandInvocation, StyleRoute } from '../requests/invocation.ts'

const style = 'action-sub-resource'

/** One route for each command. */
export const actionSubResourceRoutes = (commands: readonly Command[]): StyleRoute[] =>
  commands.map((command) => ({
    style,
    methods: ['PUT', 'POST'],
    path: `/rest/v1/deals/:id/${command.verb}`,
    describe: (method) => [describeSubResource(command, method, { tag: style, kind: 'Action' })],
    decode: (request) => decodeSubResource(request, command),
  }))

/** Decodes a command on the deal in the path, with the parameters in the body. */
export async function decodeSubResource(request: HttpRequest, command: Command): Promise<CommandInvocation> {
  const dealId = dealIdInPath(request)
  const params = withoutRepeatedId(await readJson(request, quoteOddAmounts), dealId)
  const invocation = dealCommand(request, command.bind(params, ''), dealId)
  requireRepeatable(request, invocation)
  return invocation
}

/** A command invocation whose response is the deal. */
export function dealCommand(request: HttpRequest, bound: BoundCommand, dealId: string | undefined): CommandInvocation {
  const minimal = prefersMinimal(request)
  return {
    kind: 'command',
    bound,
    dealId,
    ...commandOptionsOf(request),
    encode: (command) => dealResponse(command, minimal),
  }
}
