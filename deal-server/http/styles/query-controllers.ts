/** The queries of the query controller, by `{dto_name}`. */

import { entityTag } from '../../../shared/platform/http/cacheable.ts'
import { noParameters, pageParameters, readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { JsonSchema, Operation } from '../../../shared/platform/http/operation.ts'
import type { ListRequest, Lists } from '../../../shared/platform/http/pagination/lists.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { type HttpResponse, jsonTextResponse } from '../../../shared/platform/http/response.ts'
import { ref } from '../../../shared/platform/openapi/json-schema.ts'
import type { Page } from '../../../shared/platform/pagination.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import { isOwnAccount } from '../../../shared/protocol/authentication/own-account.ts'
import type { FindUserId } from '../../commands/find-assignable-users.ts'
import type { DealFilter, DealReader, DealSort } from '../../queries/ports.ts'
import {
  assignedTaskQuery,
  dealHistoryQuery,
  dealQuery,
  dealsQuery,
  dealTextQuery,
  type Query,
} from '../../queries/queries.ts'
import { mayReadPast, requirePresent } from '../../queries/read-past.ts'
import { isSameUser } from '../../use-cases/assignable-users.ts'
import { username, uuid } from '../../use-cases/parameters.ts'
import { idOfDeal } from '../openapi/parameters.ts'
import { describeList, describeRead } from '../openapi/read-operations.ts'
import { representListedDeal, representText } from '../representations/represent-deal.ts'
import { representEvent } from '../representations/represent-event.ts'
import { etagOf, privateHeaders } from '../representations/responses.ts'
import { assignedTaskScope, dealListScope, historyScope } from '../requests/deal-lists.ts'

interface ControlledQuery {
  rights(caller: Caller): readonly string[]
  /** The response; undefined for an empty result. */
  answer(reader: DealReader, caller: Caller, findUserId: FindUserId): Promise<TaggedResponse | undefined>
}

/** A response with an entity tag. */
type TaggedResponse = HttpResponse & { readonly headers: { readonly etag: string } }

/** A kind of record and its query. */
interface QueryController {
  readonly query: Pick<Query<never, never>, 'summary' | 'right'>
  /** The name of the path parameter in the documentation, and its schema. */
  readonly parameter: string
  readonly schema: JsonSchema
  /** The component schema of a record. */
  readonly record: string
  /** False when the result has at most one record. */
  readonly isList: boolean
  open(request: HttpRequest, parameter: string, lists: Lists): ControlledQuery
}

const selections: Readonly<Record<string, DealFilter>> = {
  open: { status: 'open' },
  completed: { status: 'completed' },
  cancelled: { status: 'cancelled' },
  held: { held: true },
}

/** `{dto_name}` → the query. */
export const queryControllers: ReadonlyMap<string, QueryController> = new Map<string, QueryController>([
  ['Deal', { query: dealQuery, parameter: 'id', schema: idOfDeal, record: 'Deal', isList: false, open: deal }],
  [
    'Deals',
    {
      query: dealsQuery,
      parameter: 'selection',
      schema: { enum: Object.keys(selections) },
      record: 'ListedDeal',
      isList: true,
      open: deals,
    },
  ],
  [
    'AssignedTask',
    {
      query: assignedTaskQuery,
      parameter: 'username',
      schema: { type: 'string' },
      record: 'AssignedTask',
      isList: true,
      open: assignedTask,
    },
  ],
  [
    'DealHistory',
    {
      query: dealHistoryQuery,
      parameter: 'id',
      schema: idOfDeal,
      record: 'Event',
      isList: true,
      open: dealHistory,
    },
  ],
])

/** In the OpenAPI document, each kind of record has its own path. */
export function describeQueryController([dtoName, controller]: readonly [string, QueryController]): Operation {
  const { query, parameter, schema, record, isList } = controller
  const { summary, right } = query
  const describe = isList ? describeList : describeRead
  return describe({
    isTagged: true,
    path: `/query/${dtoName}/{${parameter}}`,
    id: `query${dtoName}`,
    right,
    summary,
    description:
      'The same records as in the other styles, as a list. Nothing found is 404, because the list is never empty.',
    tags: ['query-controller'],
    pathParameters: { [parameter]: schema },
    success: {
      description: 'A list, never empty: 404 for an empty result.',
      schema: { type: 'array', minItems: 1, ...(isList ? {} : { maxItems: 1 }), items: ref(record) },
    },
  })
}

function deal(request: HttpRequest, parameter: string): ControlledQuery {
  readQuery(request, noParameters)
  const id = idOf(parameter)
  return {
    rights: () => [dealQuery.right],
    answer: async (reader, caller) => {
      const found = requirePresent(await dealTextQuery.run({ id }, reader), { dealId: id, caller })
      return tagged(jsonTextResponse(200, `[${representText(found)}]`, privateHeaders), etagOf(found))
    },
  }
}

const newestFirst: DealSort = { by: 'createdAt', descending: true }

function deals(request: HttpRequest, parameter: string, lists: Lists): ControlledQuery {
  const parameters = readQuery(request, pageParameters)
  const filter = Object.hasOwn(selections, parameter) ? selections[parameter] : undefined
  if (!filter) throw new ProblemError('invalid-parameter', `Expected one of ${Object.keys(selections).join(', ')}.`)
  const list = lists.open(request, dealListScope({ filter, sort: newestFirst }), parameters)
  return {
    rights: () => [dealsQuery.right],
    answer: async (reader) => {
      const page = await dealsQuery.run({ filter, sort: newestFirst, page: list.page }, reader)
      return responseOf(list, page, representListedDeal)
    },
  }
}

function assignedTask(request: HttpRequest, parameter: string, lists: Lists): ControlledQuery {
  const parameters = readQuery(request, pageParameters)
  if (!username.safeParse(parameter).success) throw new ProblemError('not-found', 'There is no such user.')
  const list = lists.open(request, assignedTaskScope(parameter), parameters)
  return {
    rights: (caller) => (isOwnAccount(caller, parameter) ? [] : [assignedTaskQuery.right]),
    answer: async (reader, caller, findUserId) => {
      const isCaller = isSameUser(caller.username, parameter)
      const userId = isCaller ? caller.userId : await findUserId(parameter, request)
      const assignee = { username: parameter, userId }
      const page = await assignedTaskQuery.run({ assignee, page: list.page }, reader)
      return responseOf(list, page, (task) => task)
    },
  }
}

function dealHistory(request: HttpRequest, parameter: string, lists: Lists): ControlledQuery {
  const parameters = readQuery(request, pageParameters)
  const dealId = idOf(parameter)
  const list = lists.open(request, historyScope(dealId), parameters)
  return {
    rights: () => [dealHistoryQuery.right],
    answer: async (reader, caller) => {
      const [page, mayRead] = await Promise.all([
        dealHistoryQuery.run({ dealId, page: list.page }, reader),
        mayReadPast(reader, { dealId, caller }),
      ])
      return mayRead ? responseOf(list, page, representEvent) : undefined
    },
  }
}

function responseOf<Item>(
  list: ListRequest,
  page: Page<Item>,
  represent: (item: Item) => unknown,
): TaggedResponse | undefined {
  if (page.items.length === 0) return undefined
  const answer = list.answerBare(page, { represent, headers: privateHeaders })
  return tagged(answer, entityTag(String(answer.body)))
}

const tagged = (answer: HttpResponse, etag: string): TaggedResponse => ({
  ...answer,
  headers: { ...answer.headers, etag },
})

/** @throws ProblemError `not-found` unless the parameter is a UUID */
function idOf(parameter: string): string {
  const parsed = uuid.safeParse(parameter)
  if (parsed.success) return parsed.data
  throw new ProblemError('not-found', 'There is no such deal: a deal id is a UUID.')
}
