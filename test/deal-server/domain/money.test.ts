import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  canonicalDecimal,
  decimalText,
  largestAmount,
  majorUnits,
  toMinorUnits,
} from '../../../deal-server/domain/money.ts'

const minorOf = (sent: unknown, currency = 'EUR') => {
  const canonical = canonicalDecimal(sent as number | string)
  return canonical === undefined ? 'invalid-amount' : (toMinorUnits(canonical, currency) ?? 'currency-scale')
}

describe('amounts', () => {
  it.each<[unknown, string, unknown]>([
    [136.67, 'EUR', 13667],
    [23.9, 'EUR', 2390],
    [20.29, 'EUR', 2029],
    [1070468.14, 'EUR', 107046814],
    [0.1 + 0.2, 'EUR', 'invalid-amount'],
    [999999999999.99, 'EUR', 99999999999999],
    [1e12, 'EUR', 'invalid-amount'],
    [1e21, 'EUR', 'invalid-amount'],
    ['1e3', 'EUR', 'invalid-amount'],
    [1e-7, 'EUR', 'invalid-amount'],
    [-0, 'EUR', 0],
    [-0.01, 'EUR', 'invalid-amount'],
    ['-0', 'EUR', 'invalid-amount'],
    ['+1', 'EUR', 'invalid-amount'],
    ['', 'EUR', 'invalid-amount'],
    [' 1', 'EUR', 'invalid-amount'],
    ['1.', 'EUR', 'invalid-amount'],
    ['.5', 'EUR', 'invalid-amount'],
    ['١', 'EUR', 'invalid-amount'],
    ['1\n', 'EUR', 'invalid-amount'],
    ['1,5', 'EUR', 'invalid-amount'],
    [Number.NaN, 'EUR', 'invalid-amount'],
    [Number.POSITIVE_INFINITY, 'EUR', 'invalid-amount'],
    ['12.30', 'EUR', 1230],
    ['0012.3', 'EUR', 1230],
    ['12.300', 'EUR', 1230],
    ['12.301', 'EUR', 'currency-scale'],
    ['12.3000', 'EUR', 'invalid-amount'],
    [12.345, 'KWD', 12345],
    [12, 'JPY', 12],
    ['12.0', 'JPY', 12],
    [12.5, 'JPY', 'currency-scale'],
    ['999999999999.999', 'KWD', 999999999999999],
  ])('%s %s: %s', (sent, currency, expected) => {
    expect(minorOf(sent, currency)).toBe(expected)
  })

  it.each(['EUR', 'JPY', 'KWD'])('every amount of %s comes back from text and number', (currency) => {
    const amounts = fc.integer({ min: 0, max: largestAmount(currency) })
    fc.assert(
      fc.property(amounts, (amount) => {
        expect(minorOf(decimalText(amount, currency), currency)).toBe(amount)
        expect(minorOf(majorUnits(amount, currency), currency)).toBe(amount)
        expect(minorOf(JSON.parse(JSON.stringify(majorUnits(amount, currency))), currency)).toBe(amount)
      }),
      { numRuns: 2000 },
    )
  })
})
