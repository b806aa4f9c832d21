/**
 * Amounts: whole minor units of a currency in the domain, decimal text outside. They are converted digit by digit,
 * never by multiplication (136.67 * 100 is 13666.999999999998).
 */
import { exponentOf } from './currency.ts'
import { type DealRefusal, refuseMember } from './refusal.ts'

/** Whole minor units of the deal's currency, 0 … 999 999 999 999 999: exact in a double. */
export type MinorUnits = number

/** Decimal text without sign, leading zeros and exponent, with the decimals as sent. */
export type DecimalText = string

const decimalPattern = /^\d{1,12}(\.\d{1,3})?$/

/**
 * Reads an amount that was sent as JSON number or text. Returns undefined when the amount is negative, in exponent form
 * or not finite, or has more than twelve digits before the point or more than three after it.
 */
export function readDecimal(value: number | string): DecimalText | undefined {
  const text = String(value)
  return decimalPattern.test(text) ? text.replace(/^0+(?=\d)/, '') : undefined
}

/** A member for an amount whose JSON number has an exponent or is minus zero. No string of JSON has this inside. */
const otherForm = /("\w*(?:[pP]rice|[pP]enalty|[aA]mount)"\s*:\s*)(-?\d+(?:\.\d+)?[eE][+-]?\d+|-0(?:\.0+)?(?![\d.eE]))/g

/**
 * Puts JSON numbers that are no amounts as they are written, such as `1e3` and `-0`, into quotes: a parser would make
 * 1000 and 0 of them. `readDecimal` then refuses them like other texts.
 */
export const quoteOddAmounts = (json: string): string =>
  json.replace(otherForm, (whole, name: string, number: string) =>
    Number.isFinite(Number(number)) ? `${name}"${number}"` : whole,
  )

/** The shortest text of an amount: `12.3` for `12.30`. */
export const shortestDecimal = (amount: DecimalText): DecimalText =>
  amount.includes('.') ? amount.replace(/\.?0+$/, '') : amount

/** The minor units of an amount; undefined when the text has more decimals than the currency. */
export function toMinorUnits(amount: DecimalText, currency: string): MinorUnits | undefined {
  const [whole = '', fraction = ''] = amount.split('.')
  const exponent = exponentOf(currency)
  return fraction.length > exponent ? undefined : Number(whole + fraction.padEnd(exponent, '0'))
}

/** An amount in the deal's currency, or the refusal of the parameter `name` when it has too many decimals. */
export function amountIn(currency: string, amount: DecimalText, name: string): MinorUnits | DealRefusal {
  const message = 'The amount has more decimals than the currency of the deal.'
  return toMinorUnits(amount, currency) ?? refuseMember('invalid-value', { name, problem: 'currency-scale', message })
}

/** The amount with all decimals of the currency: `1234.50`. */
export function decimalText(amount: MinorUnits | bigint, currency: string): string {
  const exponent = exponentOf(currency)
  if (exponent === 0) return String(amount)
  const digits = String(amount).padStart(exponent + 1, '0')
  return `${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`
}

/** The amount in major units as a JSON number. A double keeps 15 significant digits exactly. */
export const majorUnits = (amount: MinorUnits, currency: string): number => Number(decimalText(amount, currency))

/** The largest amount of a currency: 999 999 999 999, and nines in all decimals. */
export const largestAmount = (currency: string): MinorUnits => 10 ** (12 + exponentOf(currency)) - 1
