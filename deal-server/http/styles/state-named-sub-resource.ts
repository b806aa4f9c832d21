/**
 * Style 2: the wanted state as a sub-resource, `PUT /rest/v1/deals/{id}/holded`. GET reads the state `holded`, DELETE
 * undoes `holded` and `deleted`. Tasks are a collection, and POST adds a task.
 */

import { noParameters, readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { emptyResponse, jsonResponse } from '../../../shared/platform/http/response.ts'
import { ref } from '../../../shared/platform/openapi/json-schema.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { dealQuery } from '../../queries/queries.ts'
import { requirePresent } from '../../queries/read-past.ts'
import { addTask } from '../../use-cases/add-task.ts'
import type { Command } from '../../use-cases/define-use-case.ts'
import { restoreDeal } from '../../use-cases/restore-deal.ts'
import { unholdDeal } from '../../use-cases/unhold-deal.ts'
import { describeAddition, describeCommand, describeSubResource } from '../openapi/command-operations.ts'
import { idOfDeal } from '../openapi/parameters.ts'
import { describeRead } from '../openapi/read-operations.ts'
import { dealHeaders } from '../representations/responses.ts'
import { dealIdInPath } from '../requests/deal-target.ts'
import type { Invocation, StyleRoute } from '../requests/invocation.ts'
import { isUnchanged, preconditionsOf } from '../requests/preconditions.ts'
import { decodeSubResource } from './action-sub-resource.ts'

const style = 'state-named-sub-resource'
const below = (segment: string) => `/rest/v1/deals/:id/${segment}`

const holdOperation = describeRead({
  isTagged: true,
  id: 'getHold',
  right: dealQuery.right,
  summary: 'Read why, since when and by whom a deal is held',
  description: 'The hold as a resource of its own: PUT makes it, DELETE ends it.',
  tags: [style],
  pathParameters: { id: idOfDeal },
  success: { description: 'The hold; 404 when the deal is not held.', schema: ref('Hold') },
})

/** One route for each command, and the routes that read or undo a state. */
export const stateNamedSubResourceRoutes = (commands: readonly Command[]): StyleRoute[] => [
  ...commands.map(
    (command): StyleRoute => ({
      style,
      methods: ['PUT'],
      path: below(command.stateName),
      describe: (method) => [describeSubResource(command, method, { tag: style, kind: 'State' })],
      decode: (request) => decodeSubResource(request, command),
    }),
  ),
  { style, methods: ['GET'], path: below('holded'), describe: () => [holdOperation], decode: decodeHold },
  undoing(unholdDeal, { segment: 'holded', id: 'deleteHold' }),
  undoing(restoreDeal, { segment: 'deleted', id: 'deleteDeletion' }),
  {
    style,
    methods: ['POST'],
    path: below('tasks'),
    describe: () => [describeAddition({ command: addTask, id: 'postTask', style })],
    decode: decodeNewTask,
  },
]

/** DELETE of a state: runs the command that ends the state. */
const undoing = (command: Command, { segment, id }: { segment: string; id: string }): StyleRoute => ({
  style,
  methods: ['DELETE'],
  path: below(segment),
  describe: () => [describeCommand({ command, id, style })],
  decode: (request) => decodeSubResource(request, command),
})

function decodeHold(request: HttpRequest): Invocation {
  const id = dealIdInPath(request)
  readQuery(request, noParameters)
  const preconditions = preconditionsOf(request)
  return {
    kind: 'query',
    rights: () => [dealQuery.right],
    answer: async (reader, caller) => {
      const deal = requirePresent(await dealQuery.run({ id }, reader), { dealId: id, caller })
      if (!deal.held) throw new ProblemError('not-found', 'The deal is not held.', { members: { dealId: id } })
      const { holdReason: reason, holdReasonCode: reasonCode, heldAt: since, heldBy: by } = deal
      const headers = dealHeaders(deal)
      if (isUnchanged(headers.etag, preconditions, deal)) return emptyResponse(304, headers)
      return jsonResponse(200, { reason, ...(reasonCode === null ? {} : { reasonCode }), since, by }, headers)
    },
  }
}

/** Decodes POST of a task. The status is 201, because the task is new, although the response shows the deal. */
async function decodeNewTask(request: HttpRequest): Promise<Invocation> {
  const invocation = await decodeSubResource(request, addTask)
  return {
    ...invocation,
    encode: (command) => {
      const answer = invocation.encode(command)
      return command.changed && answer.status === 200 ? { ...answer, status: 201 } : answer
    },
  }
}
