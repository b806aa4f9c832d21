/** Deals as a collection of resources: create, read and delete; `deal-lists.ts` lists them. */

import * as z from 'zod'
import { readJson } from '../../../shared/platform/http/content/json-body.ts'
import { pageParameters, readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { Lists } from '../../../shared/platform/http/pagination/lists.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { emptyResponse, jsonResponse, jsonTextResponse } from '../../../shared/platform/http/response.ts'
import { ref } from '../../../shared/platform/openapi/json-schema.ts'
import { allowedTo } from '../../commands/allowed.ts'
import { noSuchDeal } from '../../commands/presence.ts'
import { quoteOddAmounts } from '../../domain/money.ts'
import { dealHistoryQuery, dealQuery, dealTextQuery } from '../../queries/queries.ts'
import { mayReadPast, requirePresent } from '../../queries/read-past.ts'
import { createDeal } from '../../use-cases/create-deal.ts'
import { deleteDeal } from '../../use-cases/delete-deal.ts'
import { describeCommand } from '../openapi/command-operations.ts'
import { idOfDeal } from '../openapi/parameters.ts'
import { describeList, describeRead } from '../openapi/read-operations.ts'
import { representDeal, representText } from '../representations/represent-deal.ts'
import { representEvent } from '../representations/represent-event.ts'
import { dealHeaders, etagOf, privateHeaders } from '../representations/responses.ts'
import { historyScope } from '../requests/deal-lists.ts'
import { dealIdInPath } from '../requests/deal-target.ts'
import type { Invocation, StyleRoute } from '../requests/invocation.ts'
import { isConditional, isUnchanged, preconditionsOf } from '../requests/preconditions.ts'
import { dealCommand, decodeSubResource } from './action-sub-resource.ts'
import { dealListRoutes } from './deal-lists.ts'

const collection = '/rest/v1/deals'
const member = '/rest/v1/deals/:id'
const style = 'resource'

/** The query parameters of a deal. */
export const dealReadParameters = z.strictObject({ expand: z.enum(['allowed']).optional() })

const readOperation = describeRead({
  isTagged: true,
  id: 'getDeal',
  right: dealQuery.right,
  summary: dealQuery.summary,
  description: 'With its tasks. `expand=allowed` adds what the caller may do with it now, and why not the rest.',
  tags: [style],
  query: dealReadParameters,
  pathParameters: { id: idOfDeal },
  success: { description: 'The deal; with `expand` it has no `ETag`.', schema: ref('Deal') },
})

const historyOperation = describeList({
  id: 'getHistory',
  right: dealHistoryQuery.right,
  summary: dealHistoryQuery.summary,
  description: 'Needs the right `deal.history.read`. The events, folded in their order, are the deal.',
  tags: [style],
  pathParameters: { id: idOfDeal },
  success: {
    description:
      'Events, the oldest first. Those of a deleted deal need the right `deal.restore`; those of a purged deal have ' +
      'no data.',
    schema: ref('EventPage'),
  },
})

/** The routes of the collection. */
export const resourceRoutes = (lists: Lists): readonly StyleRoute[] => [
  {
    style,
    methods: ['POST'],
    path: collection,
    describe: () => [describeCommand({ command: createDeal, id: 'createDeal', style })],
    decode: decodeCreation,
  },
  ...dealListRoutes(lists),
  {
    style,
    methods: ['GET'],
    path: member,
    describe: () => [readOperation],
    decode: decodeRead,
  },
  {
    style,
    methods: ['DELETE'],
    path: member,
    describe: () => [describeCommand({ command: deleteDeal, id: 'deleteDeal', style })],
    decode: (request) => decodeSubResource(request, deleteDeal),
  },
  {
    style,
    methods: ['GET'],
    path: `${member}/history`,
    describe: () => [historyOperation],
    decode: (request) => decodeHistory(request, lists),
  },
]

async function decodeCreation(request: HttpRequest): Promise<Invocation> {
  const bound = createDeal.bind(await readJson(request, quoteOddAmounts), '')
  return dealCommand(request, bound, bound.chosenDealId)
}

function decodeRead(request: HttpRequest): Invocation {
  const id = dealIdInPath(request)
  const { expand } = readQuery(request, dealReadParameters)
  const preconditions = preconditionsOf(request)
  return {
    kind: 'query',
    rights: () => [dealQuery.right],
    answer: async (reader, caller) => {
      const read = { dealId: id, caller }
      if (!expand && !isConditional(preconditions)) {
        const text = requirePresent(await dealTextQuery.run({ id }, reader), read)
        return jsonTextResponse(200, representText(text), dealHeaders(text))
      }
      const deal = requirePresent(await dealQuery.run({ id }, reader), read)
      const isKnown = isUnchanged(etagOf(deal), preconditions, deal)
      // The allowed commands depend on the caller too, so this form has no validator.
      if (expand) return jsonResponse(200, { ...representDeal(deal), ...allowedTo(caller, deal) }, privateHeaders)
      const headers = dealHeaders(deal)
      return isKnown ? emptyResponse(304, headers) : jsonResponse(200, representDeal(deal), headers)
    },
  }
}

function decodeHistory(request: HttpRequest, lists: Lists): Invocation {
  const dealId = dealIdInPath(request)
  const list = lists.open(request, historyScope(dealId), readQuery(request, pageParameters))
  return {
    kind: 'query',
    rights: () => [dealHistoryQuery.right],
    answer: async (reader, caller) => {
      const [page, mayRead] = await Promise.all([
        dealHistoryQuery.run({ dealId, page: list.page }, reader),
        mayReadPast(reader, { dealId, caller }),
      ])
      if (page.items.length === 0 || !mayRead) throw noSuchDeal(undefined, { dealId, caller })
      return list.answer(page, { represent: representEvent, headers: privateHeaders })
    },
  }
}
