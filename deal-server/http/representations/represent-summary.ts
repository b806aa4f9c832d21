import { decimalText } from '../../domain/money.ts'
import type { DealGroup, DealSummary } from '../../queries/ports.ts'

/** Sums of deals in responses: values in major units, as those of deals. */
export const representSummary = ({ groups, totalCount, otherCount }: DealSummary) => ({
  items: groups.map(representGroup),
  totalCount,
  otherCount,
})

/** A sum may have more digits than a JSON number keeps: `valueText` has all of them. */
function representGroup({ value, ...group }: DealGroup) {
  const valueText = decimalText(BigInt(value), group.currency)
  return { ...group, value: Number(valueText), valueText }
}
