/** Style 1: a verb below the deal, `PUT` or `POST /rest/v1/deals/{id}/hold`, its parameters in the body. */
import type { HttpCall } from '../../../shared/platform/http/call.ts'
import { readJson } from '../../../shared/platform/http/content/json-body.ts'
import type { Command } from '../../use-cases/define-use-case.ts'
import { describeSubResource } from '../openapi/command-operations.ts'
import { dealCommand } from '../representations/answers.ts'
import { dealIdInPath, requireRepeatable, withoutRepeatedId } from '../requests/deal-target.ts'
import type { Invocation, StyleRoute } from '../requests/invocation.ts'

const style = 'action-sub-resource'

/** One route per command. */
export const actionSubResourceRoutes = (commands: readonly Command[]): StyleRoute[] =>
  commands.map((command) => ({
    style,
    methods: ['PUT', 'POST'],
    path: `/rest/v1/deals/:id/${command.verb}`,
    describe: (method) => [describeSubResource(command, method, { tag: style, kind: 'Action' })],
    decode: (call) => decodeSubResource(call, command),
  }))

/** A command on the deal in the path, its parameters in the body. */
export async function decodeSubResource(call: HttpCall, command: Command): Promise<Invocation> {
  const dealId = dealIdInPath(call)
  const params = withoutRepeatedId(await readJson(call), dealId)
  const invocation = dealCommand(call, command.bind(params, ''), dealId)
  requireRepeatable(call, invocation)
  return invocation
}
