import type { Deal } from '../../domain/deal.ts'
import { type FieldValues, type ShownField, shownFields } from '../../domain/deal-fields.ts'
import { decimalText, type MinorUnits, majorUnits } from '../../domain/money.ts'
import { shownTask } from '../../domain/task.ts'
import type { DealText } from '../../queries/ports.ts'

/**
 * A deal in responses of all styles: amounts in major units as JSON numbers, times in RFC 3339, one order of members.
 */
export const representDeal = (deal: Deal) =>
  Object.assign(representListedDeal(deal), { tasks: deal.tasks.map(shownTask) })

/** The JSON of `representDeal`, from the text of its members. */
export function representText({ id, members, tasks }: DealText): string {
  return `${members.slice(0, -1)},"links":{"self":"${pathOf({ id })}"},"tasks":${tasks ?? '[]'}}`
}

/** A deal in lists. */
export type ListedDeal = Pick<FieldValues, ShownField> & {
  readonly priceText: string
  readonly links: { readonly self: string }
}

/** The name of a member of a listed deal. */
export type ListedDealMember = keyof ListedDeal

/** The members that a client may choose. */
export const listedDealMembers: readonly ListedDealMember[] = [
  ...shownFields.flatMap((name) => (name === 'currency' ? ([name, 'priceText'] as const) : [name])),
  'links',
]

/**
 * A deal in lists: without its tasks. Each member is here: a loop over the fields takes three times as long, and a
 * list has many deals. The compiler names a field that is missing.
 */
export function representListedDeal(deal: Deal): ListedDeal {
  const { currency, completion } = deal
  const priceText = decimalText(deal.price, currency)
  const amount = (minor: MinorUnits | null) => (minor === null ? null : majorUnits(minor, currency))
  return {
    id: deal.id,
    name: deal.name,
    price: Number(priceText),
    currency,
    priceText,
    description: deal.description,
    completionDate: deal.completionDate,
    ownerId: deal.ownerId,
    status: deal.status,
    held: deal.held,
    holdReason: deal.holdReason,
    holdReasonCode: deal.holdReasonCode,
    heldAt: deal.heldAt,
    heldBy: deal.heldBy,
    priceReason: deal.priceReason,
    completionDateReason: deal.completionDateReason,
    completionDatePenalty: amount(deal.completionDatePenalty),
    cancelReason: deal.cancelReason,
    cancelPenalty: amount(deal.cancelPenalty),
    cancelledAt: deal.cancelledAt,
    completion: completion && {
      completedOn: completion.completedOn,
      finalPrice: majorUnits(completion.finalPrice, currency),
      documentNumber: completion.documentNumber,
      comment: completion.comment,
    },
    penaltyTotal: majorUnits(deal.penaltyTotal, currency),
    version: deal.version,
    createdAt: deal.createdAt,
    createdBy: deal.createdBy,
    updatedAt: deal.updatedAt,
    updatedBy: deal.updatedBy,
    deletedAt: deal.deletedAt,
    purgeAt: deal.purgeAt,
    links: { self: pathOf(deal) },
  }
}

/** The path of the deal, relative to the server's public origin. */
export const pathOf = (deal: Pick<Deal, 'id'>): string => `/rest/v1/deals/${deal.id}`

/** Only these members of a listed deal, in their usual order, and its id; the whole deal when undefined. */
export function withMembers(deal: ListedDeal, members: readonly ListedDealMember[] | undefined): Partial<ListedDeal> {
  if (members === undefined) return deal
  const kept = listedDealMembers.filter((name) => name === 'id' || members.includes(name))
  return Object.fromEntries(kept.map((name) => [name, deal[name]]))
}
