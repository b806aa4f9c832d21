import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nextCursorOf } from '../../../console/frame/api.ts'
import { readerOf } from '../../../console/frame/reader.ts'

const reader = (language?: string) =>
  readerOf({ header: (name) => (name === 'accept-language' ? language : undefined) })

describe('the reader of a page', () => {
  it('gets numbers, dates and amounts in the first locale that the program knows', () => {
    const german = reader('xx-nonsense-locale-x, de-DE;q=0.9, en;q=0.8')
    expect(german.money('1234.5', 'EUR')).toBe('1.234,50\u00a0€')
    expect(german.date('2030-06-30')).toBe('30.06.2030')
    expect(reader('en;q=0.1, fr;q=0.7').locale).toBe('fr')
  })

  it('gets amounts in minor units of their currency, exactly', () => {
    expect(reader('en-US').money('999999999999.999', 'KWD')).toBe('KWD\u00a0999,999,999,999.999')
    expect(reader('en-US').money(1234, 'JPY')).toBe('¥1,234')
  })

  it('gets times in UTC, and the page says so', () => {
    expect(reader('en-GB').time('2026-11-22T23:05:00.000Z')).toMatch(/22 Nov 2026.*23:05 UTC/)
  })

  it('is always served, whatever the field says', () => {
    const part = fc.oneof(fc.string(), fc.constantFrom('de', 'en-US;q=0', 'zz-ZZ;q=2', '*', 'de-', '-', 'en_US'))
    const field = fc.array(part).map((parts) => parts.join(','))
    fc.assert(
      fc.property(field, (language) => {
        expect(reader(language).number(1)).not.toBe('')
      }),
    )
    expect(reader(undefined).locale).toBe('en-GB')
  })
})

describe('the next page of a list', () => {
  it('is what the link with rel="next" says', () => {
    expect(nextCursorOf({ link: '<https://a.test/x?limit=2&cursor=a%2Bb>; rel="next"' })).toBe('a+b')
    expect(nextCursorOf({ link: '<https://a.test/x>; rel="prev"' })).toBeNull()
    expect(nextCursorOf({})).toBeNull()
  })
})
