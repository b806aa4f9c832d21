/** The reader of a page: times, dates, numbers and amounts in the form of his locale (`Accept-Language`). */
import { createBoundedCache } from '../../shared/platform/cache/bounded-cache.ts'
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
}

const fallback = 'en-GB'

/** The reader who made this request. */
export function readerOf(request: Pick<HttpRequest, 'header'>): Reader {
  const locale = localeOf(request.header('accept-language'))
  const days = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC', ...options })
  return {
    locale,
    time: (time) => `${remembered(`${locale} time`, () => days({ timeStyle: 'short' })).format(new Date(time))} UTC`,
    date: (date) => remembered(`${locale} date`, () => days({})).format(new Date(`${date}T00:00:00Z`)),
    number: (value) =>
      remembered(`${locale} number`, () => new Intl.NumberFormat(locale)).format(value as Intl.StringNumericLiteral),
    money: (amount, currency) =>
      remembered(`${locale} ${currency}`, () => new Intl.NumberFormat(locale, { style: 'currency', currency })).format(
        amount as Intl.StringNumericLiteral,
      ),
  }
}

/** Forms of values by locale: to make one takes as long as a table to fill with it. */
const forms = createBoundedCache<Intl.DateTimeFormat | Intl.NumberFormat>({ maxEntries: 200, maxBytes: 250_000 })

function remembered<Form extends Intl.DateTimeFormat | Intl.NumberFormat>(name: string, create: () => Form): Form {
  const known = forms.get(name)
  // A name always stands for the same kind of form.
  if (known) return known as Form
  const form = create()
  forms.set(name, form)
  return form
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
