import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { rfc3339OfRow } from '../../../deal-server/store/rows.ts'

describe('a time of a row', () => {
  it('is RFC 3339 in UTC with three decimals, whichever zeros PostgreSQL leaves out', () => {
    const times = fc.date({ min: new Date('1970-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
    fc.assert(
      fc.property(times, (date) => {
        const inPostgres = date.toISOString().replace(/\.?0*Z$/, '+00:00')
        expect(rfc3339OfRow(inPostgres)).toBe(date.toISOString())
      }),
    )
  })

  it.each([
    ['2026-11-22T13:00:00+00:00', '2026-11-22T13:00:00.000Z'],
    ['2026-11-22T13:00:00.5+00:00', '2026-11-22T13:00:00.500Z'],
    ['2026-11-22T14:00:00.25+01:00', '2026-11-22T13:00:00.250Z'],
  ])('%s is %s', (inPostgres, expected) => {
    expect(rfc3339OfRow(inPostgres)).toBe(expected)
  })
})
