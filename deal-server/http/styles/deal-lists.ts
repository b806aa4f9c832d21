/** The list of deals and their summary: `GET /rest/v1/deals` and `GET /rest/v1/deals/summary`. */
import { preferenceOf } from '../../../shared/platform/http/content/preferences.ts'
import { readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { Lists } from '../../../shared/platform/http/pagination/lists.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { type HttpResponse, jsonResponse } from '../../../shared/platform/http/response.ts'
import { ref } from '../../../shared/platform/openapi/json-schema.ts'
import type { Page } from '../../../shared/platform/pagination.ts'
import type { Deal } from '../../domain/deal.ts'
import type { DealCount, DealFilter, DealReader } from '../../queries/ports.ts'
import { dealSummaryQuery, dealsQuery } from '../../queries/queries.ts'
import { describeList, describeRead } from '../openapi/read-operations.ts'
import { representListedDeal, withMembers } from '../representations/represent-deal.ts'
import { representSummary } from '../representations/represent-summary.ts'
import { privateHeaders } from '../representations/responses.ts'
import {
  dealListParameters,
  dealListQuery,
  dealListScope,
  dealSummaryParameters,
  dealSummaryParsed,
} from '../requests/deal-lists.ts'
import type { Invocation, StyleRoute } from '../requests/invocation.ts'

const collection = '/rest/v1/deals'
const style = 'resource'

/** The guarantees of a walk over all pages of the list. */
const walk = `A walk over all pages, by \`nextCursor\` or \`Link\`, returns each deal that matches during the whole walk
exactly once: at its position when the walk began, with its current values. Deals that are created during the walk may
be left out. A cursor is valid only for the same filters and the same order. These lists are quick for any number of
deals: sorted by \`createdAt\`, also with \`status\`; by \`name\`; by \`completionDate\`, also with \`ownerId\`; by
\`price\` with \`currency\`; with \`id\`. \`q\` of three or more characters is looked up in an index. Any other order
or filter reads all deals that match the rest. With \`fields\`, each deal has only these members and \`id\`.
\`Prefer: count=exact\` or \`count=estimated\` adds \`totalCount\`: how many deals match now, on all pages.`

const listOperation = describeList({
  id: 'listDeals',
  right: dealsQuery.right,
  summary: dealsQuery.summary,
  description: walk,
  tags: [style],
  query: dealListParameters,
  headers: ['PreferCount'],
  success: { description: 'Deals, without their tasks.', schema: ref('DealPage'), headers: ['Preference-Applied'] },
})

const summaryOperation = describeRead({
  id: 'summarizeDeals',
  right: dealSummaryQuery.right,
  summary: dealSummaryQuery.summary,
  description: `The number and the value of the deals that match now, in groups, the largest group first. The filters
are those of the list. At most 1,000 groups: \`otherCount\` says how many deals are in groups that are left out.`,
  tags: [style],
  query: dealSummaryParameters,
  success: { description: 'Groups of deals.', schema: ref('DealSummary') },
  further: ['query-too-slow'],
})

/** The routes of lists. The summary comes before the deals, whose path would match its path too. */
export const dealListRoutes = (lists: Lists): readonly StyleRoute[] => [
  {
    style,
    methods: ['GET'],
    path: collection,
    describe: () => [listOperation],
    decode: (request) => decodeList(request, lists),
  },
  {
    style,
    methods: ['GET'],
    path: `${collection}/summary`,
    describe: () => [summaryOperation],
    decode: decodeSummary,
  },
]

function decodeList(request: HttpRequest, lists: Lists): Invocation {
  const { filter, sort, fields, ...parameters } = readQuery(request, dealListQuery)
  const list = lists.open(request, dealListScope({ filter, sort }), parameters)
  const counting = preferenceOf(request, 'count')
  const represent = (deal: Deal) => withMembers(representListedDeal(deal), fields)
  return {
    kind: 'query',
    rights: () => [dealsQuery.right],
    answer: async (reader) => {
      const page = await dealsQuery.run({ filter, sort, page: list.page }, reader)
      if (counting !== 'exact' && counting !== 'estimated')
        return list.answer(page, { represent, headers: listHeaders })
      const isFirst = parameters.cursor === undefined
      const total = await countBeside(page, { isFirst, filter, isExact: counting === 'exact' }, reader)
      return countedAnswer(list.reply(page, represent), total)
    },
  }
}

/** What is counted, and for which page. */
interface Counting {
  readonly isFirst: boolean
  readonly filter: DealFilter
  readonly isExact: boolean
}

/** The total beside a page. A first page without a next one is all there is; an estimate is never below the page. */
async function countBeside(page: Page<Deal>, counting: Counting, reader: DealReader): Promise<DealCount> {
  const { isFirst, filter, isExact } = counting
  const onPage = page.items.length
  if (isFirst && page.next === undefined) return { count: onPage, isExact: true }
  const total = await reader.count(filter, isExact)
  return total.isExact ? total : { ...total, count: Math.max(total.count, page.next ? onPage + 1 : onPage) }
}

function countedAnswer(
  { body, headers }: { body: object; headers: object },
  { count, isExact }: DealCount,
): HttpResponse {
  const applied = { 'preference-applied': isExact ? 'count=exact' : 'count=estimated' }
  const counted = { ...body, totalCount: count, totalCountExact: isExact }
  return jsonResponse(200, counted, { ...listHeaders, ...headers, ...applied })
}

/** The preference chooses among forms of the response (RFC 7240 §2). */
const listHeaders = { ...privateHeaders, vary: `${privateHeaders.vary}, Prefer` }

function decodeSummary(request: HttpRequest): Invocation {
  const parsed = readQuery(request, dealSummaryParsed)
  return {
    kind: 'query',
    rights: () => [dealSummaryQuery.right],
    answer: async (reader) =>
      jsonResponse(200, representSummary(await dealSummaryQuery.run(parsed, reader)), privateHeaders),
  }
}
