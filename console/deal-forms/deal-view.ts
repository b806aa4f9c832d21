/** A deal as the API shows it, and reading it for a page. */
import { type Api, type ApiReply, RefusedCall } from '../frame/api.ts'

/** A task of a deal. */
export interface TaskView {
  readonly id: string
  readonly title: string
  readonly dueDate: string | null
  readonly assigneeId: string | null
  readonly status: 'open' | 'done' | 'dropped'
  readonly result: string | null
  readonly doneAt: string | null
}

/** A deal, without what the caller may do. Amounts are major units, times RFC 3339. */
export interface DealView {
  readonly id: string
  readonly name: string
  readonly currency: string
  readonly priceText: string
  readonly description: string | null
  readonly completionDate: string | null
  readonly ownerId: string
  readonly status: 'open' | 'completed' | 'cancelled'
  readonly held: boolean
  readonly holdReason: string | null
  readonly holdReasonCode: string | null
  readonly heldAt: string | null
  readonly heldBy: string | null
  readonly priceReason: string | null
  readonly completionDateReason: string | null
  readonly completionDatePenalty: number | null
  readonly cancelReason: string | null
  readonly cancelPenalty: number | null
  readonly cancelledAt: string | null
  readonly completion: {
    readonly completedOn: string
    readonly finalPrice: number
    readonly documentNumber: string | null
    readonly comment: string | null
  } | null
  readonly penaltyTotal: number
  readonly version: number
  readonly createdAt: string
  readonly createdBy: string
  readonly updatedAt: string
  readonly updatedBy: string
  readonly tasks: readonly TaskView[]
}

/** A use case that this caller cannot run on the deal now. */
export interface BlockedCommand {
  readonly useCase: string
  readonly code: string
  readonly missingRight?: string
}

/** A deal with what the caller may do now. */
export interface DealForCaller extends DealView {
  readonly allowed: readonly string[]
  readonly withoutEffect: readonly string[]
  readonly blocked: readonly BlockedCommand[]
}

/** The deal, for the caller, or the refusal. */
export const findDeal = (api: Api, id: string): Promise<ApiReply<DealForCaller>> =>
  api.call<DealForCaller>({ route: 'GET /rest/v1/deals/:id', path: { id }, query: { expand: 'allowed' } })

/** The deal, for the caller. @throws RefusedCall */
export async function readDeal(api: Api, id: string): Promise<DealForCaller> {
  const reply = await findDeal(api, id)
  if (!reply.ok) throw new RefusedCall(reply)
  return reply.body
}

/** The state that the deal is in. */
export type DealState = 'open' | 'held' | 'completed' | 'cancelled'

/** One word for the state of a deal. */
export const stateOf = ({ status, held }: Pick<DealView, 'status' | 'held'>): DealState =>
  status === 'open' && held ? 'held' : status

/** The page of a deal. */
export const pathOfDeal = (id: string): string => `/console/deals/${encodeURIComponent(id)}`

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
