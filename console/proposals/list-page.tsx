/** `/console/proposals`: the commands that wait for a decision, and those that were decided. */
import { createDeal } from '../../deal-server/use-cases/create-deal.ts'
import { titleOfUseCase } from '../deal-forms/command-form.tsx'
import { type Column, Notice, Pager, Table, Time } from '../frame/content.tsx'
import type { DealApi, DealPage, DealReply } from '../frame/deal-api.ts'
import type { Reader } from '../frame/reader.ts'
import { Tabs } from '../frame/tabs.tsx'
import { pathOfDeal } from '../parts/deal-parts.tsx'
import { proposalTexts as texts } from '../texts/proposals.ts'

/** A proposal. */
export type Proposal = DealReply<'GET /proposals/:id'>

/** The page of all proposals. */
export const proposalPagesPath = '/console/proposals'

/** The page of a proposal. */
export const pageOfProposal = (id: string): string => `${proposalPagesPath}/${encodeURIComponent(id)}`

/** `alice, by Clerk`. */
export const proposerOf = ({ proposedBy, client }: Proposal): string => `${proposedBy}, by ${client.name}`

const pathOfState = (state: string): string => `${proposalPagesPath}?state=${encodeURIComponent(state)}`

const tabs = Object.entries(texts.tabs).map(([state, text]) => ({ path: pathOfState(state), text }))

/** The list. Readers who decide on nothing see what applications have proposed for them. */
export const proposalsPage = (): DealPage => ({
  methods: ['GET'],
  path: proposalPagesPath,
  render: async ({ request, api, reader }) => {
    const { done, ...asked } = Object.fromEntries(request.query)
    const query = new URLSearchParams(asked)
    const { items, nextCursor } = await api.get('GET /proposals', { query })
    const columns = columnsFor(reader, await namesOf(api, items))
    return {
      title: 'Proposals',
      content: (
        <>
          <h1>Proposals</h1>
          <Notice>{done !== undefined && texts.done.get(done)}</Notice>
          <p class="hint">What applications have proposed runs when somebody approves it.</p>
          <Tabs label="States" tabs={tabs} path={pathOfState(query.get('state') ?? 'open')} />
          <Table caption="Proposals" columns={columns} rows={items} empty="There is no such proposal." />
          <Pager path={proposalPagesPath} query={query} nextCursor={nextCursor} />
        </>
      ),
    }
  },
})

/** Deal → its name, for deals that the reader sees. */
async function namesOf(api: DealApi, items: readonly Proposal[]): Promise<ReadonlyMap<string | null, string>> {
  const ids = [...new Set(items.flatMap(({ deal }) => deal ?? []))]
  if (ids.length === 0) return new Map()
  const reply = await api.call('GET /rest/v1/deals', { query: { id: ids.join(), fields: 'name', limit: ids.length } })
  return new Map(reply.ok ? reply.body.items.map(({ id, name }) => [id, name]) : [])
}

const columnsFor = (reader: Reader, names: ReadonlyMap<string | null, string>): Column<Proposal>[] => [
  { title: 'What', cell: ({ id, useCase }) => <a href={pageOfProposal(id)}>{titleOfUseCase(useCase)}</a> },
  {
    title: 'Deal',
    cell: ({ deal, useCase, params }) => {
      const name = names.get(deal)
      if (deal !== null && name !== undefined) return <a href={pathOfDeal(deal)}>{name}</a>
      return useCase === createDeal.name ? String(params.name) : deal?.slice(-12)
    },
  },
  { title: 'Proposed by', cell: proposerOf },
  { title: 'Since', isShort: true, cell: ({ proposedAt }) => <Time time={proposedAt} reader={reader} /> },
  { title: 'Expires', isShort: true, cell: ({ expiresAt }) => <Time time={expiresAt} reader={reader} /> },
]
