/** A deal as the API shows it, and reading it for a page. */
import type { DealApi, DealReply } from '../frame/deal-api.ts'
import { pathOfDeal } from '../parts/deal-parts.tsx'

/** A deal, with what the caller may do now. */
export type DealView = DealReply<'GET /rest/v1/deals/:id'>

/** A task of a deal. */
export type TaskView = DealView['tasks'][number]

const callOf = (id: string) => ({ path: { id }, query: { expand: 'allowed' } })

/** The deal, for the caller, or the refusal. */
export const findDeal = (api: DealApi, id: string) => api.call('GET /rest/v1/deals/:id', callOf(id))

/** The deal, for the caller. @throws RefusedCall */
export const readDeal = (api: DealApi, id: string) => api.get('GET /rest/v1/deals/:id', callOf(id))

/** The state that the deal is in. */
export type DealState = 'open' | 'held' | 'completed' | 'cancelled'

/** One word for the state of a deal. */
export const stateOf = ({ status, held }: DealView): DealState => (status === 'open' && held ? 'held' : status)

/** The page of the form of a command. */
export const pathOfCommand = (dealId: string, verb: string): string =>
  `${pathOfDeal(dealId)}/commands/${encodeURIComponent(verb)}`

/** The names of users that the deal shows, for suggestions; each once. */
export const peopleOf = (deal: DealView, caller: string): readonly string[] => [
  ...new Set(
    [caller, deal.ownerId, deal.createdBy, deal.updatedBy, ...deal.tasks.map(({ assigneeId }) => assigneeId)]
      .filter((name): name is string => name !== null)
      .slice(0, 50),
  ),
]

/** True for a day that can be shown, `YYYY-MM-DD`. */
export const isDay = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`))
