/**
 * The events of a deal: facts in the past tense. Each has just the data that folding the deal's state needs
 * (docs/deal-model.md#events). Amounts are minor units of the deal's currency.
 */
import type { MinorUnits } from './money.ts'

interface HoldReason {
  readonly reason: string
  readonly code: string | null
}

/** How a deal was completed. */
export interface Completion {
  /** `YYYY-MM-DD`. */
  readonly completedOn: string
  readonly finalPrice: MinorUnits
  readonly documentNumber: string | null
  readonly comment: string | null
}

interface Creation {
  readonly id: string
  readonly name: string
  readonly price: MinorUnits
  readonly currency: string
  readonly description: string | null
  readonly completionDate: string | null
  readonly ownerId: string
  /** The user's immutable id; absent in old events, which were written without ids. */
  readonly ownerUserId?: string
}

/** Event type → its data. */
export interface DealEventData {
  'deal.created': Creation
  'deal.renamed': { readonly old: string; readonly new: string }
  'deal.price-changed': { readonly old: MinorUnits; readonly new: MinorUnits; readonly reason: string }
  'deal.completion-date-changed': {
    readonly old: string | null
    readonly new: string | null
    readonly penalty: MinorUnits
    readonly why: string
  }
  'deal.penalty-charged': { readonly amount: MinorUnits; readonly cause: 'completion-date-changed' | 'cancelled' }
  'deal.held': HoldReason
  'deal.hold-reason-changed': { readonly old: HoldReason; readonly new: HoldReason }
  'deal.unheld': { readonly heldForSeconds: number }
  'deal.completed': Completion
  'deal.cancelled': { readonly penalty: MinorUnits; readonly reason: string; readonly wasHeld: boolean }
  'deal.reopened': { readonly from: 'completed' | 'cancelled'; readonly reason: string }
  'deal.owner-assigned': {
    readonly old: string
    readonly new: string
    /** Like `ownerUserId`. */
    readonly oldUserId?: string
    readonly newUserId?: string
  }
  'deal.task-added': {
    readonly taskId: string
    readonly title: string
    readonly dueDate: string | null
    readonly assigneeId: string | null
    /** Like `ownerUserId`. */
    readonly assigneeUserId?: string | null
  }
  'deal.task-assigned': {
    readonly taskId: string
    readonly old: string | null
    readonly new: string
    /** Like `ownerUserId`. */
    readonly newUserId?: string
  }
  'deal.task-unassigned': { readonly taskId: string; readonly old: string; readonly reason: string | null }
  'deal.task-completed': { readonly taskId: string; readonly result: string | null }
  'deal.task-dropped': { readonly taskId: string; readonly cause: 'completed' | 'cancelled' }
  'deal.deleted': { readonly purgeAt: string }
  'deal.restored': Readonly<Record<string, never>>
}

/** The name of an event: `deal.held`. */
export type DealEventType = keyof DealEventData

/** Event type → the members of its data that are amounts. */
export const eventAmounts: { readonly [Type in DealEventType]?: readonly (keyof DealEventData[Type])[] } = {
  'deal.created': ['price'],
  'deal.price-changed': ['old', 'new'],
  'deal.completion-date-changed': ['penalty'],
  'deal.penalty-charged': ['amount'],
  'deal.completed': ['finalPrice'],
  'deal.cancelled': ['penalty'],
}

/** One event with the data of its type. */
export type DealEvent = {
  [Type in DealEventType]: { readonly type: Type; readonly data: DealEventData[Type] }
}[DealEventType]

/** All event types. */
export const dealEventTypes = Object.keys({
  'deal.created': true,
  'deal.renamed': true,
  'deal.price-changed': true,
  'deal.completion-date-changed': true,
  'deal.penalty-charged': true,
  'deal.held': true,
  'deal.hold-reason-changed': true,
  'deal.unheld': true,
  'deal.completed': true,
  'deal.cancelled': true,
  'deal.reopened': true,
  'deal.owner-assigned': true,
  'deal.task-added': true,
  'deal.task-assigned': true,
  'deal.task-unassigned': true,
  'deal.task-completed': true,
  'deal.task-dropped': true,
  'deal.deleted': true,
  'deal.restored': true,
} satisfies Record<DealEventType, true>) as readonly DealEventType[]
