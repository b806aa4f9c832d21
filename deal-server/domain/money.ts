/**
 * Amounts: whole minor units of a currency inside, decimal text at the edge, converted digit by digit and never by multiplication
 * (136.67 * 100 is 13666.999999999998).
 */
import { exponentOf } from './currency.ts'

/** Whole minor units of the deal's currency, 0 … 999 999 999 999 999: exact in a double. */
export type MinorUnits = number

/** Canonical decimal text: no sign, no leading or trailing zeros, no exponent. */
export type DecimalText = string

const decimalPattern = /^\d{1,12}(\.\d{1,3})?$/

/**
 * The canonical text of an amount sent as JSON number or text; undefined when it is negative, in exponent form, not finite, or has more than
 * twelve digits before or three behind the point.
 */
export function canonicalDecimal(value: number | string): DecimalText | undefined {
  const text = String(value)
  if (!decimalPattern.test(text)) return undefined
  const [whole = '', fraction = ''] = text.split('.')
  const digits = fraction.replace(/0+$/, '')
  return `${whole.replace(/^0+(?=\d)/, '')}${digits === '' ? '' : `.${digits}`}`
}

/** Minor units of an amount; undefined when it has more decimals than the currency. */
export function toMinorUnits(amount: DecimalText, currency: string): MinorUnits | undefined {
  const [whole = '', fraction = ''] = amount.split('.')
  const exponent = exponentOf(currency)
  return fraction.length > exponent ? undefined : Number(whole + fraction.padEnd(exponent, '0'))
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
