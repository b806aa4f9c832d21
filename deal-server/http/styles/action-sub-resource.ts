/** Style 1: a verb below the deal, `PUT` or `POST /rest/v1/deals/{id}/hold`, with the parameters in the body. */
import type { Command } from '../../use-cases/define-use-case.ts'
import { describeSubResource } from '../openapi/command-operations.ts'
import type { StyleRoute } from '../requests/invocation.ts'
import { decodeSubResource } from './deal-command.ts'

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
