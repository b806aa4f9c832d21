import type { Deal } from '../domain/deal.ts'
import { decimalText, majorUnits } from '../domain/money.ts'

/** A deal as every style answers it: amounts in major units as JSON numbers, times in RFC 3339, one order of members. */
export const representDeal = (deal: Deal) => ({
  id: deal.id,
  name: deal.name,
  price: majorUnits(deal.price, deal.currency),
  currency: deal.currency,
  priceText: decimalText(deal.price, deal.currency),
  description: deal.description,
  completionDate: deal.completionDate,
  ownerId: deal.ownerId,
  status: deal.status,
  held: deal.held,
  holdReason: deal.holdReason,
  holdReasonCode: deal.holdReasonCode,
  heldAt: deal.heldAt,
  heldBy: deal.heldBy,
  penaltyTotal: majorUnits(deal.penaltyTotal, deal.currency),
  version: deal.version,
  createdAt: deal.createdAt,
  createdBy: deal.createdBy,
  updatedAt: deal.updatedAt,
  updatedBy: deal.updatedBy,
  links: { self: pathOf(deal) },
})

/** Where the deal is, relative to the server's public origin. */
export const pathOf = (deal: Deal): string => `/rest/v1/deals/${deal.id}`
