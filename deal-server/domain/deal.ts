/**
 * The deal: its state, and the guards of the transition table (docs/deal-model.md#transitions) that several use cases
 * share. Pure: uses no clock, makes no identifiers, imports no library.
 */
import { largestAmount, type MinorUnits } from './money.ts'
import { type DealRefusal, refuse } from './refusal.ts'
import type { Task } from './task.ts'

/** How a deal was completed. */
export interface Completion {
  /** `YYYY-MM-DD`. */
  readonly completedOn: string
  readonly finalPrice: MinorUnits
  readonly documentNumber: string | null
  readonly comment: string | null
}

/** The state of a deal. */
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
  /** The owner's immutable id; null in old deals, which were written without ids. */
  readonly ownerUserId: string | null
  readonly status: 'open' | 'completed' | 'cancelled'
  readonly held: boolean
  readonly holdReason: string | null
  readonly holdReasonCode: string | null
  /** RFC 3339, as all times here. */
  readonly heldAt: string | null
  readonly heldBy: string | null
  /** The reason of the last change of the price. */
  readonly priceReason: string | null
  /** The reason of the last change of the completion date, and its penalty. */
  readonly completionDateReason: string | null
  readonly completionDatePenalty: MinorUnits | null
  readonly cancelReason: string | null
  readonly cancelPenalty: MinorUnits | null
  readonly cancelledAt: string | null
  readonly completion: Completion | null
  /** Sum of all penalties ever charged. */
  readonly penaltyTotal: MinorUnits
  /** In the order of their creation. */
  readonly tasks: readonly Task[]
  /** Grows by one per accepted command, from 1. */
  readonly version: number
  /** The number of events of the deal; they count without gaps. */
  readonly sequence: number
  readonly createdAt: string
  readonly createdBy: string
  readonly updatedAt: string
  readonly updatedBy: string
  readonly deletedAt: string | null
  /** The time when a deleted deal is removed for good. */
  readonly purgeAt: string | null
}

/** Refuses a change of a completed or cancelled deal. */
export const requireOpen = (deal: Deal): DealRefusal | undefined =>
  deal.status === 'open'
    ? undefined
    : refuse('deal-closed', 'The deal is completed or cancelled; only an open deal can be changed.')

/** Refuses the changes that a hold blocks: price, date and completion. */
const requireNotHeld = (deal: Deal): DealRefusal | undefined =>
  deal.held ? refuse('deal-held', 'The deal is held; unhold it first.') : undefined

/** Refuses unless the deal is open and not held. */
export const requireFree = (deal: Deal): DealRefusal | undefined => requireOpen(deal) ?? requireNotHeld(deal)

/** Refuses a penalty when the total of all penalties would become larger than an amount can be. */
export const requirePenaltyFits = (deal: Deal, penalty: MinorUnits): DealRefusal | undefined =>
  deal.penaltyTotal + penalty > largestAmount(deal.currency)
    ? refuse('penalty-limit', 'With this penalty the total of all penalties would be larger than any amount can be.')
    : undefined

/** The tasks that are not done or dropped. */
export const openTasks = (deal: Deal): readonly Task[] => deal.tasks.filter(({ status }) => status === 'open')

/** The members of a deal that is not held. */
export const notHeld = { held: false, holdReason: null, holdReasonCode: null, heldAt: null, heldBy: null } as const

/** The members of a deal that is not cancelled. */
export const notCancelled = { cancelReason: null, cancelPenalty: null, cancelledAt: null } as const

/** The deal after a change of one task. */
export const withTask = (deal: Deal, taskId: string, change: Partial<Task>): Deal => ({
  ...deal,
  tasks: deal.tasks.map((task) => (task.id === taskId ? { ...task, ...change } : task)),
})
