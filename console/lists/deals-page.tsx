/** `/console/deals`: the list of deals. The URL has the filters, the order and the page. */

import type { Clock } from '../../shared/platform/clock.ts'
import { BulkBar, bulkActionsOf } from '../bulk/bulk-bar.tsx'
import type { PageResult } from '../frame/console.tsx'
import { Pager, Table } from '../frame/content.tsx'
import type { DealPage, DealReply, DealVisit } from '../frame/deal-api.ts'
import { may } from '../frame/may.ts'
import { dayOf } from '../parts/deal-parts.tsx'
import { activeFilters, apiQuery, cleanQuery, defaults } from '../parts/filters.ts'
import { listTexts as texts } from '../texts/lists.ts'
import { dealColumns, type ListedDeal, listedMembers } from './columns.tsx'
import { FilterForm, Views } from './filter-form.tsx'
import { readyViews } from './views.ts'

type DealList = DealReply<'GET /rest/v1/deals'>

/** The page of the list. */
export const dealsPage = (clock: Clock): DealPage => ({
  methods: ['GET'],
  path: '/console/deals',
  right: 'deal.read',
  render: async (visit) => {
    const { query } = visit.request
    const clean = cleanQuery(query)
    if (clean) return { redirect: `/console/deals${clean.size > 0 ? `?${clean}` : ''}` }
    return showDeals(visit, clock.now())
  },
})

async function showDeals(visit: DealVisit, now: number): Promise<PageResult> {
  const { request, api, caller } = visit
  const { query } = request
  const asked = apiQuery(query)
  for (const [name, value] of Object.entries(defaults)) if (!asked.has(name)) asked.set(name, value)
  asked.set('fields', listedMembers.join())
  // Further pages do not show the number: it is counted once for each walk.
  const headers = query.has('cursor') ? {} : { prefer: 'count=exact' }
  const reply = await api.call('GET /rest/v1/deals', { query: asked, headers })
  const list = reply.ok ? reply.body : undefined
  return {
    title: 'Deals',
    status: reply.ok ? 200 : reply.status,
    scripts: ['views.js'],
    content: (
      <>
        <Head visit={visit} list={list} />
        <Views views={readyViews(caller.username, now)} query={query} username={caller.username} isGood={reply.ok} />
        <FilterForm query={query} problem={reply.ok ? undefined : reply.problem} />
        {list && <Deals visit={visit} list={list} today={dayOf(now)} />}
      </>
    ),
  }
}

interface ListProps {
  readonly visit: DealVisit
  readonly list: DealList
}

function Head({ visit, list }: { readonly visit: DealVisit; readonly list: DealList | undefined }) {
  const { caller, reader } = visit
  const count = list?.totalCount
  const mayCreate = may(caller, 'deal.create')
  return (
    <div class="head">
      <h1>
        Deals
        {count !== undefined && (
          <span class="count">
            {texts.found(reader.number(count), list?.totalCountExact !== false)}
            <span class="unseen"> {count === 1 ? 'deal' : 'deals'}</span>
          </span>
        )}
      </h1>
      <div class="actions">
        <ExportMenu query={visit.request.query} />
        {mayCreate && (
          <>
            <a class="button quiet" href="/console/deals/import">
              Import
            </a>
            <a class="button" href="/console/deals/new">
              New deal
            </a>
          </>
        )}
      </div>
    </div>
  )
}

function ExportMenu({ query }: { readonly query: URLSearchParams }) {
  const link = (form: string, text: string) => {
    const target = new URLSearchParams([...query].filter(([name]) => name !== 'cursor' && name !== 'limit'))
    target.set('form', form)
    return (
      <li>
        <a href={`/console/deals/export?${target}`}>{text}</a>
      </li>
    )
  }
  return (
    <details class="menu">
      <summary class="button quiet">Export</summary>
      <ul>
        {link('spreadsheet', 'CSV for a spreadsheet')}
        {link('csv', 'CSV, to import again')}
        {link('ndjson', 'NDJSON')}
      </ul>
    </details>
  )
}

function Deals({ visit, list, today }: ListProps & { readonly today: string }) {
  const { request, caller, reader } = visit
  const { query, path } = request
  const actions = bulkActionsOf(caller.rights)
  const select = ({ id, name, version }: ListedDeal) => ({
    name: `select.${id}`,
    value: String(version),
    label: `Select ${name}`,
  })
  const table = (
    <Table
      caption="Deals"
      columns={dealColumns({ reader, query, today })}
      rows={list.items}
      empty={activeFilters(query) > 0 ? 'No deal matches these filters.' : 'There are no deals yet.'}
      {...(actions.length > 0 && { select })}
    />
  )
  return (
    <>
      {actions.length > 0 && list.items.length > 0 ? (
        <BulkBar actions={actions} query={query}>
          {table}
        </BulkBar>
      ) : (
        table
      )}
      <Pager path={path} query={query} nextCursor={list.nextCursor} />
    </>
  )
}
