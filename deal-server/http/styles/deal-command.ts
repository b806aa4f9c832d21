/** Decodes commands on the deal in the path, and encodes the deal as the response. Most styles share it. */

import { readJson } from '../../../shared/platform/http/content/json-body.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import type { BoundCommand, Command } from '../../use-cases/define-use-case.ts'
import { dealResponse } from '../representations/responses.ts'
import { commandOptionsOf, prefersMinimal } from '../requests/command-options.ts'
import { dealIdInPath, requireRepeatable, withoutRepeatedId } from '../requests/deal-target.ts'
import type { CommandInvocation } from '../requests/invocation.ts'

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

/** Decodes a command on the deal in the path, with the parameters in the body. */
export async function decodeSubResource(request: HttpRequest, command: Command): Promise<CommandInvocation> {
  const dealId = dealIdInPath(request)
  const params = withoutRepeatedId(await readJson(request), dealId)
  const invocation = dealCommand(request, command.bind(params, ''), dealId)
  requireRepeatable(request, invocation)
  return invocation
}
