/**
 * What a representation differs in from the stored deal, as the use cases that would make it so, in the order in which they run: Reopen,
 * Unhold, Rename, AssignOwner, ChangePrice, ChangeCompletionDate, Hold, Complete or Cancel.
 */
import { foldUsername } from '../../shared/principals/record.ts'
import type { Deal } from '../domain/deal.ts'
import { canonicalDecimal, decimalText, type MinorUnits } from '../domain/money.ts'
import { type DealRefusal, isRefusal, refuseMember } from '../domain/refusal.ts'
import { assignOwner } from './assign-owner.ts'
import type { Attributes } from './attributes.ts'
import { cancelDeal } from './cancel-deal.ts'
import { changeCompletionDate } from './change-completion-date.ts'
import { changePrice } from './change-price.ts'
import { completeDeal, isCompletedAs } from './complete-deal.ts'
import type { Command } from './define-use-case.ts'
import { holdDeal } from './hold-deal.ts'
import { renameDeal } from './rename-deal.ts'
import { reopenDeal } from './reopen-deal.ts'
import { unholdDeal } from './unhold-deal.ts'

/** One use case that an update comes to. */
export interface AttributeChange {
  readonly command: Command
  readonly params: Readonly<Record<string, unknown>>
}

type Found = AttributeChange | DealRefusal | undefined

/** The changes in order, or the first reason why they cannot be told. */
export function differences(attributes: Attributes, deal: Deal): readonly AttributeChange[] | DealRefusal {
  const found = [reopening, unholding, renaming, assigning, pricing, dating, holding, closing].map((find) =>
    find(attributes, deal),
  )
  const refusal = found.find((change) => isRefusal(change))
  return refusal ?? found.filter((change): change is AttributeChange => change !== undefined && !isRefusal(change))
}

const reasonRequired = (name: string) =>
  refuseMember('reason-required', {
    name,
    problem: 'reason-required',
    message: 'This change needs a reason of its own.',
  })
const penaltyRequired = (name: string) =>
  refuseMember('penalty-required', { name, problem: 'penalty-required', message: 'Send the penalty, 0 for none.' })
const inconsistent = (name: string, message: string) =>
  refuseMember('inconsistent-attributes', { name, problem: 'inconsistent-attributes', message })

/** A reason that is there and not the one of the change before: a stale client must not reuse that unnoticed. */
const isFresh = (reason: string | null | undefined, stored: string | null): reason is string =>
  typeof reason === 'string' && reason !== stored

const isAmount = (sent: string, stored: MinorUnits, currency: string): boolean =>
  sent === canonicalDecimal(decimalText(stored, currency))

function reopening({ status, reopenReason }: Attributes, deal: Deal): Found {
  if (status !== 'open' || deal.status === 'open') return undefined
  return reopenReason == null
    ? reasonRequired('reopenReason')
    : { command: reopenDeal, params: { reason: reopenReason } }
}

function unholding({ held, holdReason, status }: Attributes, deal: Deal): Found {
  const isHeld = held ?? deal.held
  if (isHeld) return undefined
  if (holdReason != null && holdReason !== deal.holdReason) {
    return inconsistent('holdReason', 'A deal that is not held has no reason for a hold.')
  }
  // Cancelling clears the hold by itself.
  return deal.held && status !== 'cancelled' ? { command: unholdDeal, params: {} } : undefined
}

const renaming = ({ name }: Attributes, deal: Deal): Found =>
  name === undefined || name === deal.name ? undefined : { command: renameDeal, params: { newName: name } }

const assigning = ({ ownerId }: Attributes, deal: Deal): Found =>
  ownerId === undefined || foldUsername(ownerId) === foldUsername(deal.ownerId)
    ? undefined
    : { command: assignOwner, params: { employeeId: ownerId } }

function pricing({ price, priceReason }: Attributes, deal: Deal): Found {
  if (price === undefined || isAmount(price, deal.price, deal.currency)) return undefined
  if (!isFresh(priceReason, deal.priceReason)) return reasonRequired('priceReason')
  return { command: changePrice, params: { newPrice: price, reason: priceReason } }
}

function dating(attributes: Attributes, deal: Deal): Found {
  const { completionDate: newDate, completionDatePenalty: penaltyAmount, completionDateReason: whyChanged } = attributes
  if (newDate === undefined || newDate === deal.completionDate) return undefined
  if (!isFresh(whyChanged, deal.completionDateReason)) return reasonRequired('completionDateReason')
  if (penaltyAmount == null) return penaltyRequired('completionDatePenalty')
  return { command: changeCompletionDate, params: { newDate, penaltyAmount, whyChanged } }
}

function holding(attributes: Attributes, deal: Deal): Found {
  const { held = deal.held, holdReason, holdReasonCode, status } = attributes
  if (!held || (deal.held && status === 'cancelled')) return undefined
  if (!deal.held && status === 'cancelled' && deal.status !== 'cancelled')
    return inconsistent('held', 'A deal cannot be cancelled and newly held at once.')
  if (deal.held && holdReason === null) return inconsistent('holdReason', 'A held deal has a reason.')
  const reason = holdReason ?? deal.holdReason
  if (reason === null) return reasonRequired('holdReason')
  const code = holdReasonCode === undefined ? deal.holdReasonCode : holdReasonCode
  if (deal.held && reason === deal.holdReason && code === deal.holdReasonCode) return undefined
  return { command: holdDeal, params: { reason, reasonCode: code } }
}

function closing(attributes: Attributes, deal: Deal): Found {
  const { status, completion, cancelPenalty, cancelReason } = attributes
  if (status === undefined || status === 'open') return undefined
  if (status === deal.status && isClosedAs(attributes, deal)) return undefined
  if (status === 'completed') return { command: completeDeal, params: completion ?? {} }
  const reason = cancelReason ?? deal.cancelReason
  const penalty = cancelPenalty ?? (deal.cancelPenalty === null ? null : decimalText(deal.cancelPenalty, deal.currency))
  if (reason === null) return reasonRequired('cancelReason')
  if (penalty === null) return penaltyRequired('cancelPenalty')
  return { command: cancelDeal, params: { penaltyAmount: penalty, reason } }
}

/** A deal that is closed already, and nothing else is said of how; what is left out counts as equal. */
function isClosedAs({ completion, cancelPenalty, cancelReason }: Attributes, deal: Deal): boolean {
  if (deal.status === 'completed') return completion == null || isCompletedAs(deal, completion)
  const samePenalty = cancelPenalty == null || isAmount(cancelPenalty, deal.cancelPenalty ?? 0, deal.currency)
  return samePenalty && (cancelReason == null || cancelReason === deal.cancelReason)
}
