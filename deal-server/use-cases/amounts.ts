import { type DecimalText, type MinorUnits, toMinorUnits } from '../domain/money.ts'
import { type DealRefusal, refuseMember } from '../domain/refusal.ts'

/** An amount in the deal's currency, or the refusal of the parameter `name` that has more decimals than the currency. */
export function amountIn(currency: string, amount: DecimalText, name: string): MinorUnits | DealRefusal {
  const message = 'The amount has more decimals than the currency of the deal.'
  return toMinorUnits(amount, currency) ?? refuseMember('invalid-value', { name, problem: 'currency-scale', message })
}
