import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { mapAmounts } from '../../../deal-server/commands/amount-parameters.ts'
import {
  decimalText,
  largestAmount,
  majorUnits,
  quoteOddAmounts,
  readDecimal,
  shortestDecimal,
  toMinorUnits,
} from '../../../deal-server/domain/money.ts'
import { commands } from '../../../deal-server/use-cases/index.ts'
import { attributesSchema } from '../../../deal-server/use-cases/update-deal/attributes.ts'
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
    ['{"price":1e3}', '{"price":"1e3"}'],
    ['{ "newPrice" : 1.5E+1 , "a":1e3}', '{ "newPrice" : "1.5E+1" , "a":1e3}'],
    ['[{"finalPrice":-0},{"penaltyAmount":-0.00}]', '[{"finalPrice":"-0"},{"penaltyAmount":"-0.00"}]'],
    ['{"price":0e-1,"cancelPenalty":-0e5}', '{"price":"0e-1","cancelPenalty":"-0e5"}'],
  ])('are texts where their numbers are written with exponent or sign: %s', (sent, expected) => {
    expect(quoteOddAmounts(sent)).toBe(expected)
    expect(JSON.parse(expected)).toBeDefined()
  })

  it.each([
    '{"price":1000}',
    '{"price":-0.5,"newPrice":-1}',
    '{"price":1e400}',
    '{"price":"1e3","priceReason":1e3,"version":1e0}',
    '{"name":"\\"price\\":1e3"}',
    '{"name":"\\\\","x":"price:1e3","prices":1e3}',
    '{"price":{"a":-0},"price2":-0}',
  ])('stay as they are in %s', (sent) => expect(quoteOddAmounts(sent)).toBe(sent))

  it('are quoted under every name that a parameter for an amount has, and under no other', () => {
    const names = commands.flatMap(({ params }) => (params instanceof z.ZodObject ? Object.keys(params.shape) : []))
    const all = [...new Set([...names, ...Object.keys(attributesSchema.unwrap().shape), 'finalPrice'])]
    const { completion, ...marked } = mapAmounts(
      { ...Object.fromEntries(all.map((name) => [name, '1'])), completion: { finalPrice: '1' } },
      () => 'amount',
    )
    const amounts = Object.keys(marked).filter((name) => marked[name] === 'amount')
    expect(amounts).toEqual(expect.arrayContaining(['price', 'newPrice', 'penaltyAmount']))
    expect(completion).toEqual({ finalPrice: 'amount' })
    for (const name of [...amounts, 'finalPrice']) expect(quoteOddAmounts(`{"${name}":1e3}`)).toBe(`{"${name}":"1e3"}`)
    for (const name of all.filter((one) => marked[one] !== 'amount' && one !== 'finalPrice'))
      expect(quoteOddAmounts(`{"${name}":1e3}`)).toBe(`{"${name}":1e3}`)
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
