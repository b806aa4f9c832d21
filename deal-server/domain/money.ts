/**
 * Amounts: whole minor units of a currency inside, decimal text at the edge, converted digit by digit and never by
 * multiplication (136.67 * 100 is 13666.999999999998).
 */
import { exponentOf } from './currency.ts'
import { type DealRefusal, refuseMember } from './refusal.ts'

/** Whole minor units of the deal's currency, 0 … 999 999 999 999 999: exact in a double. */
export type MinorUnits = number

/** Decimal text: no sign, no leading zeros, no exponent, and the decimals that were sent. */
export type DecimalText = string

const decimalPattern = /^\d{1,12}(\.\d{1,3})?$/

/**
 * The text of an amount sent as JSON number or text; undefined when it is negative, in exponent form, not finite, or
 * has more than twelve digits before or three behind the point.
 */
export function readDecimal(value: number | string): DecimalText | undefined {
  const text = String(value)
  return decimalPattern.test(text) ? text.replace(/^0+(?=\d)/, '') : undefined
}

/** One text for all that mean the same amount: `12.3` for `12.30`. */
export const shortestDecimal = (amount: DecimalText): DecimalText =>
  amount.includes('.') ? amount.replace(/\.?0+$/, '') : amount

/** Minor units of an amount; undefined when it was sent with more decimals than the currency has. */
export function toMinorUnits(amount: DecimalText, currency: string): MinorUnits | undefined {
  const [whole = '', fraction = ''] = amount.split('.')
  const exponent = exponentOf(currency)
  return fraction.length > exponent ? undefined : Number(whole + fraction.padEnd(exponent, '0'))
}

/**
 * An amount in the deal's currency, or the refusal of the parameter `name` that has more decimals than the currency.
 */
export function amountIn(currency: string, amount: DecimalText, name: string): MinorUnits | DealRefusal {
  const message = 'The amount has more decimals than the currency of the deal.'
  return toMinorUnits(amount, currency) ?? refuseMember('invalid-value', { name, problem: 'currency-scale', message })
}

/** With all decimals of the currency: `1234.50`. */
export function decimalText(amount: MinorUnits, currency: string): string {
  const exponent = exponentOf(currency)
  if (exponent === 0) return String(amount)
  const digits = String(amount).padStart(exponent + 1, '0')
  return `${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`
}

/** Major units as a JSON number: 15 significant digits survive a double. */
export const majorUnits = (amount: MinorUnits, currency: string): number => Number(decimalText(amount, currency))

/** The largest amount of a currency: 999 999 999 999 and all its decimals. */
export const largestAmount = (currency: string): MinorUnits => 10 ** (12 + exponentOf(currency)) - 1
