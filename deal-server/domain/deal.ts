/**
 * The deal: its state, what each event makes of it, and the guards of the transition table (deal model 1.5). Pure: no clock, no
 * identifiers of its own making, no library.
 */
import type { DealEvent } from './events.ts'
import type { MinorUnits } from './money.ts'
import { type DealRefusal, refuse } from './refusal.ts'

export interface Deal {
  /** UUID in lower case. */
  readonly id: string
  readonly name: string
  readonly price: MinorUnits
  /** ISO 4217, immutable. */
  readonly currency: string
  readonly description: string | null
  /** `YYYY-MM-DD`. */
  readonly completionDate: string | null
  /** User name. */
  readonly ownerId: string
  readonly status: 'open' | 'completed' | 'cancelled'
  readonly held: boolean
  readonly holdReason: string | null
  readonly holdReasonCode: string | null
  /** RFC 3339, as all times here. */
  readonly heldAt: string | null
  readonly heldBy: string | null
  /** Sum of all penalties ever charged. */
  readonly penaltyTotal: MinorUnits
  /** Grows by one per accepted command, from 1. */
  readonly version: number
  /** How many events it has had, without gaps. */
  readonly sequence: number
  readonly createdAt: string
  readonly createdBy: string
  readonly updatedAt: string
  readonly updatedBy: string
  readonly deletedAt: string | null
  /** When a deleted deal is removed for good. */
  readonly purgeAt: string | null
}

/** When and by whom a command's events happened. */
export interface Occasion {
  readonly at: string
  readonly actor: string
}

/** Refuses a change of a completed or cancelled deal. */
export const requireOpen = (deal: Deal): DealRefusal | undefined =>
  deal.status === 'open'
    ? undefined
    : refuse('deal-closed', `The deal is ${deal.status}; only an open deal can be changed.`)

/** The state after the events of one accepted command: version + 1, sequence + one per event. */
export function applyEvents(deal: Deal | undefined, events: readonly DealEvent[], occasion: Occasion): Deal {
  let state = deal
  for (const event of events) state = evolve(state, event, occasion)
  if (!state) throw new TypeError('the first event of a deal is its creation')
  return {
    ...state,
    version: (deal?.version ?? 0) + 1,
    sequence: (deal?.sequence ?? 0) + events.length,
    updatedAt: occasion.at,
    updatedBy: occasion.actor,
  }
}

type EventOf<Type extends DealEvent['type']> = Extract<DealEvent, { type: Type }>

/** What each event makes of the deal. */
const evolutions: {
  readonly [Type in Exclude<DealEvent['type'], 'deal.created'>]: (
    deal: Deal,
    data: EventOf<Type>['data'],
    occasion: Occasion,
  ) => Deal
} = {
  'deal.held': (deal, { reason, code }, { at, actor }) => ({
    ...deal,
    held: true,
    holdReason: reason,
    holdReasonCode: code,
    heldAt: at,
    heldBy: actor,
  }),
  'deal.hold-reason-changed': (deal, { new: { reason, code } }) => ({
    ...deal,
    holdReason: reason,
    holdReasonCode: code,
  }),
  'deal.unheld': (deal) => ({
    ...deal,
    held: false,
    holdReason: null,
    holdReasonCode: null,
    heldAt: null,
    heldBy: null,
  }),
  'deal.deleted': (deal, { purgeAt }, { at }) => ({ ...deal, deletedAt: at, purgeAt }),
}

function evolve(deal: Deal | undefined, event: DealEvent, occasion: Occasion): Deal {
  if (event.type === 'deal.created') return createdDeal(event.data, occasion)
  if (!deal) throw new TypeError(`${event.type} before the creation of the deal`)
  const evolution = evolutions[event.type] as (deal: Deal, data: DealEvent['data'], occasion: Occasion) => Deal
  return evolution(deal, event.data, occasion)
}

const createdDeal = (data: EventOf<'deal.created'>['data'], { at, actor }: Occasion): Deal => ({
  ...data,
  status: 'open',
  held: false,
  holdReason: null,
  holdReasonCode: null,
  heldAt: null,
  heldBy: null,
  penaltyTotal: 0,
  version: 0,
  sequence: 0,
  createdAt: at,
  createdBy: actor,
  updatedAt: at,
  updatedBy: actor,
  deletedAt: null,
  purgeAt: null,
})
