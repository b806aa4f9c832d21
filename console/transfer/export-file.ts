/** `/console/deals/export`: the deals of a list as a file, written page by page as the client takes it. */

import { csvOfDeals, type ListedDeal } from '../../deal-server/files/cells.ts'
import { ndjson } from '../../shared/platform/http/content/json-items.ts'
import type { HttpResponse } from '../../shared/platform/http/response.ts'
import { writeInTime } from '../../shared/platform/http/stream.ts'
import type { DealApi, DealPage, DealReply } from '../frame/deal-api.ts'
import type { Download } from '../frame/downloads.ts'
import { apiQuery } from '../parts/filters.ts'

/** The forms of the file by the parameter `form`. */
const forms = {
  csv: { ending: 'csv', type: 'text/csv; charset=utf-8', write: csvWriter(false) },
  spreadsheet: { ending: 'csv', type: 'text/csv; charset=utf-8', write: csvWriter(true) },
  ndjson: { ending: 'ndjson', type: ndjson, write: (deals: readonly ListedDeal[]) => deals.map(lineOf).join('') },
} as const

const lineOf = (deal: ListedDeal) => `${JSON.stringify(deal)}\n`

function csvWriter(escapesFormulas: boolean) {
  return (deals: readonly ListedDeal[], isBegin: boolean): string =>
    csvOfDeals(deals, { delimiter: ',', escapesFormulas }, isBegin)
}

type Form = (typeof forms)[keyof typeof forms]

type Deals = DealReply<'GET /rest/v1/deals'>

/** The largest page of the API: what is in memory at once. */
const pageSize = '200'
/** A client that takes nothing for this time is disconnected, in milliseconds. */
const stallMs = 30_000

/** The file. A refusal of the first page is a page; a later one cuts the file off, which the browser shows. */
export const exportFile = (download: Download): DealPage => ({
  methods: ['GET'],
  path: '/console/deals/export',
  right: 'deal.read',
  render: (visit) => {
    const { api, request } = visit
    const { query } = request
    const name = query.get('form') ?? 'csv'
    const form = Object.hasOwn(forms, name) ? forms[name as keyof typeof forms] : forms.csv
    const own = new URLSearchParams([...query].filter(([parameter]) => parameter !== 'form'))
    const asked = apiQuery(own)
    if (!asked.has('sort')) asked.set('sort', 'createdAt')
    asked.set('limit', pageSize)
    return download(visit, async () => fileResponse({ api, asked, first: await readPage(api, asked), form }))
  },
})

const readPage = (api: DealApi, query: URLSearchParams): Promise<Deals> => api.get('GET /rest/v1/deals', { query })

interface File {
  readonly api: DealApi
  readonly asked: URLSearchParams
  readonly first: Deals
  readonly form: Form
}

function fileResponse({ api, asked, first, form }: File): HttpResponse {
  return {
    status: 200,
    headers: {
      'content-type': form.type,
      'content-disposition': `attachment; filename="deals.${form.ending}"`,
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    },
    endsByItself: true,
    body: async (stream) => {
      let page = first
      for (let isBegin = true; ; isBegin = false) {
        await writeInTime(stream, form.write(page.items, isBegin), stallMs)
        if (page.nextCursor === null || stream.ended.aborted) return
        const next = new URLSearchParams(asked)
        next.set('cursor', page.nextCursor)
        page = await readPage(api, next)
      }
    },
  }
}
