/**
 * Finds the differences between a sent representation and the stored deal, as use cases that make the deal equal. They
 * run in this order: Reopen, Unhold, Rename, AssignOwner, ChangePrice, ChangeCompletionDate, Hold, Complete or Cancel.
 */
import type { Deal } from '../../domain/deal.ts'
import { decimalText, type MinorUnits, toMinorUnits } from '../../domain/money.ts'
import { type DealRefusal, refuseMember } from '../../domain/refusal.ts'
import { assignOwner } from '../assign-owner.ts'
import { isSameUser } from '../assignable-users.ts'
import { cancelDeal } from '../cancel-deal.ts'
import { changeCompletionDate } from '../change-completion-date.ts'
import { changePrice } from '../change-price.ts'
import { completeDeal, isCompletedAs } from '../complete-deal.ts'
import type { Command } from '../define-use-case.ts'
import { holdDeal } from '../hold-deal.ts'
import { renameDeal } from '../rename-deal.ts'
import { reopenDeal } from '../reopen-deal.ts'
import { unholdDeal } from '../unhold-deal.ts'
import type { Attributes } from './attributes.ts'

/** One use case that an update runs. */
export interface AttributeChange {
  readonly command: Command
  readonly params: Readonly<Record<string, unknown>>
}

/** All differences of a representation. */
export interface Differences {
  readonly changes: readonly AttributeChange[]
  /** Set when no use case can make one of the differences; then no use case runs. */
  readonly refusal: DealRefusal | undefined
  /** The use cases that the differences ask for, also when one of them is refused. */
  readonly involved: readonly Command[]
}

/** A refused difference, and the use case that it asks for, if any. */
interface RefusedChange {
  readonly command: Command | undefined
  readonly refusal: DealRefusal
}

type Found = AttributeChange | RefusedChange | undefined

/** The changes in order, and the first refusal. */
export function differences(attributes: Attributes, deal: Deal): Differences {
  const found = [reopening, unholding, renaming, assigning, pricing, dating, holding, closing].flatMap(
    (find) => find(attributes, deal) ?? [],
  )
  return {
    changes: found.filter((one): one is AttributeChange => 'params' in one),
    refusal: found.find((one): one is RefusedChange => 'refusal' in one)?.refusal,
    involved: found.flatMap(({ command }) => command ?? []),
  }
}

function reasonRequired(command: Command, name: string): RefusedChange {
  const message = 'This change needs a reason of its own.'
  return { command, refusal: refuseMember('reason-required', { name, problem: 'reason-required', message }) }
}
function penaltyRequired(command: Command, name: string): RefusedChange {
  const message = 'Send the penalty, 0 for none.'
  return { command, refusal: refuseMember('penalty-required', { name, problem: 'penalty-required', message }) }
}
const inconsistent = (command: Command | undefined, name: string, message: string): RefusedChange => ({
  command,
  refusal: refuseMember('inconsistent-attributes', { name, problem: 'inconsistent-attributes', message }),
})

/** True for a reason that differs from the stored reason: a stale client must not reuse that one unnoticed. */
const isFresh = (reason: string | null | undefined, stored: string | null): reason is string =>
  typeof reason === 'string' && reason !== stored

const isAmount = (sent: string, stored: MinorUnits, currency: string): boolean =>
  toMinorUnits(sent, currency) === stored

/** True for an earlier version of the deal. A PUT that is sent again may still have a hold that ended since. */
const isStale = ({ version }: Attributes, deal: Deal): boolean => version !== undefined && version < deal.version

function reopening({ status, reopenReason }: Attributes, deal: Deal): Found {
  if (status !== 'open' || deal.status === 'open') return undefined
  return reopenReason == null
    ? reasonRequired(reopenDeal, 'reopenReason')
    : { command: reopenDeal, params: { reason: reopenReason } }
}

function unholding(attributes: Attributes, deal: Deal): Found {
  const { held = deal.held, holdReason, status } = attributes
  if (held) return undefined
  const isEnded = !deal.held && isStale(attributes, deal)
  if (holdReason != null && holdReason !== deal.holdReason && !isEnded) {
    return inconsistent(
      deal.held ? unholdDeal : undefined,
      'holdReason',
      'A deal that is not held has no reason for a hold.',
    )
  }
  // Cancelling clears the hold by itself.
  return deal.held && status !== 'cancelled' ? { command: unholdDeal, params: {} } : undefined
}

const renaming = ({ name }: Attributes, deal: Deal): Found =>
  name === undefined || name === deal.name ? undefined : { command: renameDeal, params: { newName: name } }

const assigning = ({ ownerId }: Attributes, deal: Deal): Found =>
  ownerId === undefined || isSameUser(ownerId, deal.ownerId)
    ? undefined
    : { command: assignOwner, params: { employeeId: ownerId } }

function pricing({ price, priceReason }: Attributes, deal: Deal): Found {
  if (price === undefined || isAmount(price, deal.price, deal.currency)) return undefined
  if (!isFresh(priceReason, deal.priceReason)) return reasonRequired(changePrice, 'priceReason')
  return { command: changePrice, params: { newPrice: price, reason: priceReason } }
}

function dating(attributes: Attributes, deal: Deal): Found {
  const { completionDate: newDate, completionDatePenalty: penaltyAmount, completionDateReason: whyChanged } = attributes
  if (newDate === undefined || newDate === deal.completionDate) return undefined
  if (!isFresh(whyChanged, deal.completionDateReason))
    return reasonRequired(changeCompletionDate, 'completionDateReason')
  if (penaltyAmount == null) return penaltyRequired(changeCompletionDate, 'completionDatePenalty')
  return { command: changeCompletionDate, params: { newDate, penaltyAmount, whyChanged } }
}

function holding(attributes: Attributes, deal: Deal): Found {
  const { held = deal.held, holdReason, holdReasonCode, status } = attributes
  if (!held || (deal.held && status === 'cancelled')) return undefined
  if (status === 'cancelled' && deal.status === 'cancelled' && isStale(attributes, deal)) return undefined
  if (!deal.held && status === 'cancelled' && deal.status !== 'cancelled')
    return inconsistent(holdDeal, 'held', 'A deal cannot be cancelled and newly held at once.')
  if (deal.held && holdReason === null) return inconsistent(holdDeal, 'holdReason', 'A held deal has a reason.')
  const reason = holdReason ?? deal.holdReason
  if (reason === null) return reasonRequired(holdDeal, 'holdReason')
  const code = holdReasonCode === undefined ? deal.holdReasonCode : holdReasonCode
  if (deal.held && reason === deal.holdReason && code === deal.holdReasonCode) return undefined
  return { command: holdDeal, params: { reason, reasonCode: code } }
}

function closing(attributes: Attributes, deal: Deal): Found {
  const { status = deal.status, completion, cancelPenalty, cancelReason } = attributes
  if (status === 'open' || status === 'deleted') return undefined
  if (status === deal.status && isClosedAs(attributes, deal)) return undefined
  if (status === 'completed') return { command: completeDeal, params: completion ?? {} }
  const reason = cancelReason ?? deal.cancelReason
  const penalty = cancelPenalty ?? (deal.cancelPenalty === null ? null : decimalText(deal.cancelPenalty, deal.currency))
  if (reason === null) return reasonRequired(cancelDeal, 'cancelReason')
  if (penalty === null) return penaltyRequired(cancelDeal, 'cancelPenalty')
  return { command: cancelDeal, params: { penaltyAmount: penalty, reason } }
}

/**
 * True for a closed deal when the attributes do not differ from how it was closed. Absent attributes count as equal.
 */
function isClosedAs({ completion, cancelPenalty, cancelReason }: Attributes, deal: Deal): boolean {
  if (deal.status === 'completed') return completion == null || isCompletedAs(deal, completion)
  const samePenalty = cancelPenalty == null || isAmount(cancelPenalty, deal.cancelPenalty ?? 0, deal.currency)
  return samePenalty && (cancelReason == null || cancelReason === deal.cancelReason)
}
