/**
 * The deal: its state, and the guards of the transition table (docs/deal-model.md#transitions) that several use cases
 * share. Pure: uses no clock, makes no identifiers, imports no library.
 */
import type { FieldValues } from './deal-fields.ts'
import { largestAmount, type MinorUnits } from './money.ts'
import { type DealRefusal, refuse } from './refusal.ts'
import type { Task } from './task.ts'

/** The state of a deal. */
export interface Deal extends FieldValues {
  /** In the order of their creation. */
  readonly tasks: readonly Task[]
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
