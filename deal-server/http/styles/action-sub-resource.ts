/** Style 1: a verb below the deal, `PUT` or `POST /rest/v1/deals/{id}/hold`, its parameters in the body. */
import type { HttpCall } from '../../../shared/http/call.ts'
import { readJson } from '../../../shared/http/json-body.ts'
import type { Command } from '../../use-cases/define-use-case.ts'
import { idempotencyKeyOf } from '../command-id.ts'
import { dealIdInPath, withoutRepeatedId } from '../deal-target.ts'
import type { Invocation, StyleRoute } from '../invocation.ts'
import { preconditionsOf } from '../preconditions.ts'
import { noParameters, readQuery } from '../query-parameters.ts'
import { answerWithDeal } from './deal-answers.ts'

/** One route per command. */
export const actionSubResourceRoutes = (commands: readonly Command[]): StyleRoute[] =>
  commands.map((command) => ({
    style: 'action-sub-resource',
    methods: ['PUT', 'POST'],
    path: `/rest/v1/deals/:id/${command.verb}`,
    decode: (call) => decode(call, command),
  }))

async function decode(call: HttpCall, command: Command): Promise<Invocation> {
  const dealId = dealIdInPath(call)
  readQuery(call, noParameters)
  const params = withoutRepeatedId(await readJson(call), dealId)
  return {
    kind: 'command',
    bound: command.bind(params, ''),
    dealId,
    commandId: idempotencyKeyOf(call),
    preconditions: preconditionsOf(call),
    encode: answerWithDeal,
  }
}
