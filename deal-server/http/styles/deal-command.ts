/** A command on the deal in the path whose answer is the deal: what most styles read and write alike. */

import { readJson } from '../../../shared/platform/http/content/json-body.ts'
import type { HttpCall } from '../../../shared/platform/http/request.ts'
import type { BoundCommand, Command } from '../../use-cases/define-use-case.ts'
import { answerWithDeal } from '../representations/responses.ts'
import { commandOptionsOf, prefersMinimal } from '../requests/command-options.ts'
import { dealIdInPath, requireRepeatable, withoutRepeatedId } from '../requests/deal-target.ts'
import type { CommandInvocation } from '../requests/invocation.ts'

/** An invocation whose outcome is the deal. */
export function dealCommand(call: HttpCall, bound: BoundCommand, dealId: string | undefined): CommandInvocation {
  const minimal = prefersMinimal(call)
  return {
    kind: 'command',
    bound,
    dealId,
    ...commandOptionsOf(call),
    encode: (answered) => answerWithDeal(answered, minimal),
  }
}

/** A command on the deal in the path, its parameters in the body. */
export async function decodeSubResource(call: HttpCall, command: Command): Promise<CommandInvocation> {
  const dealId = dealIdInPath(call)
  const params = withoutRepeatedId(await readJson(call), dealId)
  const invocation = dealCommand(call, command.bind(params, ''), dealId)
  requireRepeatable(call, invocation)
  return invocation
}
