/** The reader of a page: times, dates, numbers and amounts in the form of the reader's locale (`Accept-Language`). */
import { createMemo } from '../../shared/platform/cache/memo.ts'
import type { HttpRequest } from '../../shared/platform/http/request.ts'

/** Writes values for a reader. */
export interface Reader {
  /** A BCP 47 tag. */
  readonly locale: string
  /** A time in UTC. @param time RFC 3339 */
  time(time: string): string
  /** @param date `YYYY-MM-DD` */
  date(date: string): string
  number(value: number | string): string
  /** @param amount major units; text loses nothing @param currency ISO 4217 */
  money(amount: number | string, currency: string): string
  /** `3 days`. */
  duration(count: number, unit: 'second' | 'minute' | 'hour' | 'day'): string
}

const fallback = 'en-GB'

/** Readers by locale: to make their formats takes longer than all else of a page. */
const readers = createMemo<Reader>({ maxEntries: 50, maxBytes: 1_000_000 })

/** The reader who made this request. */
export function readerOf(request: Pick<HttpRequest, 'header'>): Reader {
  return readers.get(localeOf(request.header('accept-language')), createReader)
}

function createReader(locale: string): Reader {
  const times = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
  const dates = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' })
  const numbers = new Intl.NumberFormat(locale)
  /** By currency or unit. */
  const formats = createMemo<Intl.NumberFormat>({ maxEntries: 20, maxBytes: 100_000 })
  const formatOf = (key: string, options: Intl.NumberFormatOptions): Intl.NumberFormat =>
    formats.get(key, () => new Intl.NumberFormat(locale, options))
  return {
    locale,
    time: (time) => `${times.format(new Date(time))} UTC`,
    date: (date) => dates.format(new Date(`${date}T00:00:00Z`)),
    number: (value) => numbers.format(value as Intl.StringNumericLiteral | number),
    money: (amount, currency) =>
      formatOf(currency, { style: 'currency', currency }).format(amount as Intl.StringNumericLiteral | number),
    duration: (count, unit) => formatOf(unit, { style: 'unit', unit, unitDisplay: 'long' }).format(count),
  }
}

/** The first locale of the field that this program knows (RFC 9110 §12.5.4). */
function localeOf(field: string | undefined): string {
  if (field === undefined || field.length > 200) return fallback
  const wanted = field
    .split(',')
    .map((part) => {
      const [tag = '', weight = 'q=1'] = part.split(';').map((text) => text.trim())
      return { tag, quality: Number(weight.replace(/^q=/, '')) || 0 }
    })
    .filter(({ tag, quality }) => quality > 0 && /^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/.test(tag))
    .sort((a, b) => b.quality - a.quality)
  for (const { tag } of wanted) {
    const known = supportedOf(tag)
    if (known !== undefined) return known
  }
  return fallback
}

function supportedOf(tag: string): string | undefined {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf([tag])[0]
  } catch {
    return undefined
  }
}
