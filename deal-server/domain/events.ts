/**
 * What happened to a deal: facts in the past tense, each with just what it takes to fold the deal's state again (deal model 6.1).
 */
import type { MinorUnits } from './money.ts'

interface HoldReason {
  readonly reason: string
  readonly code: string | null
}

export type DealEvent =
  | {
      readonly type: 'deal.created'
      readonly data: {
        readonly id: string
        readonly name: string
        readonly price: MinorUnits
        readonly currency: string
        readonly description: string | null
        readonly completionDate: string | null
        readonly ownerId: string
      }
    }
  | { readonly type: 'deal.held'; readonly data: HoldReason }
  | { readonly type: 'deal.hold-reason-changed'; readonly data: { readonly old: HoldReason; readonly new: HoldReason } }
  | { readonly type: 'deal.unheld'; readonly data: { readonly heldForSeconds: number } }
  | { readonly type: 'deal.deleted'; readonly data: { readonly purgeAt: string } }
