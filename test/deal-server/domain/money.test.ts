import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decimalText,
  largestAmount,
  majorUnits,
  readDecimal,
  shortestDecimal,
  toMinorUnits,
} from '../../../deal-server/domain/money.ts'
import { campaign } from '../../support/campaign.ts'

const minorOf = (sent: unknown, currency = 'EUR') => {
  const decimal = readDecimal(sent as number | string)
  return decimal === undefined ? 'invalid-amount' : (toMinorUnits(decimal, currency) ?? 'currency-scale')
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
    ['12.300', 'EUR', 'currency-scale'],
    ['12.300', 'KWD', 12300],
    [JSON.parse('12.300'), 'EUR', 1230],
    ['12.301', 'EUR', 'currency-scale'],
    ['12.3000', 'EUR', 'invalid-amount'],
    [12.345, 'KWD', 12345],
    [12, 'JPY', 12],
    ['12.0', 'JPY', 'currency-scale'],
    [JSON.parse('12.0'), 'JPY', 12],
    [12.5, 'JPY', 'currency-scale'],
    ['999999999999.999', 'KWD', 999999999999999],
  ])('%s %s: %s', (sent, currency, expected) => {
    expect(minorOf(sent, currency)).toBe(expected)
  })

  it.each([
    ['12.30', '12.3'],
    ['12.00', '12'],
    ['10.10', '10.1'],
    ['100', '100'],
    ['0', '0'],
    ['0.00', '0'],
    ['00.50', '0.5'],
  ])('%s is, for what a command id stands for, %s', (sent, expected) => {
    expect(shortestDecimal(readDecimal(sent) ?? '')).toBe(expected)
  })

  it.each(['EUR', 'JPY', 'KWD'])('every amount of %s comes back from text and number', (currency) => {
    const amounts = fc.integer({ min: 0, max: largestAmount(currency) })
    fc.assert(
      fc.property(amounts, (amount) => {
        expect(minorOf(decimalText(amount, currency), currency)).toBe(amount)
        expect(minorOf(majorUnits(amount, currency), currency)).toBe(amount)
        expect(minorOf(JSON.parse(JSON.stringify(majorUnits(amount, currency))), currency)).toBe(amount)
      }),
      { numRuns: campaign({ short: 500, long: 5000 }) },
    )
  })
})
