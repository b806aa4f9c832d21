/** The page of a deal: its state, facts, tasks and history, and what the reader can do. */

import type { IdSource } from '../../shared/platform/ids.ts'
import { Suggestions } from '../deal-forms/command-form.tsx'
import { type DealView, findDeal, peopleOf, stateOf } from '../deal-forms/deal-view.ts'
import { Following, follower } from '../deal-forms/following.tsx'
import { RefusedCall } from '../frame/api.ts'
import { Notice, Pager } from '../frame/content.tsx'
import type { DealPage, DealReply, DealVisit } from '../frame/deal-api.ts'
import { may } from '../frame/may.ts'
import { pathOfDeal } from '../parts/deal-parts.tsx'
import { dealTexts as texts } from '../texts/deal.ts'
import { Commands } from './commands.tsx'
import { deletedDealPage } from './deleted-deal.tsx'
import { commandDoneText } from './done-text.ts'
import { DealFacts } from './facts.tsx'
import { History } from './history.tsx'
import { StateDiagram } from './state-diagram.tsx'
import { Tasks } from './tasks.tsx'

const historyRight = 'deal.history.read'
/** Events on one page. */
const historyLimit = 25

/** `/console/deals/:id`. */
export const dealPage = (ids: IdSource): DealPage => ({
  methods: ['GET'],
  path: '/console/deals/:id',
  right: 'deal.read',
  render: async (visit) => {
    const id = visit.request.pathParameters.id ?? ''
    const [found, history] = await Promise.all([findDeal(visit.api, id), readHistory(visit, id)])
    if (!found.ok) return deletedDealPage({ visit, refusal: found, events: history?.items ?? [], ids })
    const deal = found.body
    return {
      title: deal.name,
      scripts: follower(visit.caller),
      content: <DealContent visit={visit} deal={deal} history={history} ids={ids} />,
    }
  },
})

type HistoryPage = DealReply<'GET /rest/v1/deals/:id/history'>

/** Undefined for a reader who may not read it. @throws RefusedCall */
async function readHistory({ api, caller, request }: DealVisit, id: string): Promise<HistoryPage | undefined> {
  if (!may(caller, historyRight)) return undefined
  const cursor = request.query.get('cursor') ?? undefined
  const reply = await api.call('GET /rest/v1/deals/:id/history', {
    path: { id },
    query: { limit: historyLimit, cursor },
  })
  // The deal itself is refused too, with more words.
  if (!reply.ok && reply.status === 404) return undefined
  if (!reply.ok) throw new RefusedCall(reply)
  return reply.body
}

interface DealPageProps {
  readonly visit: DealVisit
  readonly deal: DealView
  readonly history: HistoryPage | undefined
  readonly ids: IdSource
}

function DealContent({ visit, deal, history, ids }: DealPageProps) {
  const { request, reader, caller } = visit
  const state = stateOf(deal)
  return (
    <>
      <Notice>{commandDoneText(request.query.get('done'))}</Notice>
      <Following deal={deal} caller={caller} />
      <div id="deal">
        <p class="crumb">
          <a href="/console/deals">All deals</a>
        </p>
        <div class="head titled">
          <h1>{deal.name}</h1>
          <span class={`badge ${state}`}>{texts.states[state]}</span>
        </div>
        <div class="columns record">
          <div>
            <DealFacts deal={deal} reader={reader} />
            <Tasks deal={deal} reader={reader} caller={caller} ids={ids} page={request.query.get('tasks')} />
          </div>
          <div>
            <StateDiagram deal={deal} reader={reader} />
            <Commands deal={deal} ids={ids} />
          </div>
          <section class="panel" aria-labelledby="history">
            <h2 id="history">History</h2>
            {history === undefined ? (
              <p class="hint">You need the right {historyRight} to read the history.</p>
            ) : (
              <>
                <History events={history.items} tasks={deal.tasks} reader={reader} />
                <Pager path={pathOfDeal(deal.id)} query={lastingQuery(request.query)} nextCursor={history.nextCursor} />
              </>
            )}
          </section>
        </div>
        <Suggestions people={peopleOf(deal, caller.username)} />
      </div>
    </>
  )
}

/** The query of the page without what was for one time only. */
function lastingQuery(query: URLSearchParams): URLSearchParams {
  const kept = new URLSearchParams(query)
  kept.delete('done')
  return kept
}
