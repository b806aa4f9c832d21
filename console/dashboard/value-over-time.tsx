/** The value of new deals by month or week: a chart for each currency, and all numbers in a table. */
import { type Column, Table } from '../frame/content.tsx'
import type { Reader } from '../frame/reader.ts'
import { dayMs, dayOf } from '../parts/deal-parts.tsx'
import { StandingBars } from './charts.tsx'
import type { Period, SpanValue } from './sums.ts'

interface Parts {
  readonly spans: readonly SpanValue[]
  readonly period: Period
  readonly reader: Reader
}

/** Currencies beyond these are only in the list. */
const maxColumns = 6

/** The panel. Amounts of different currencies have no sum: each currency has its own chart. */
export function ValueOverTime({ spans, period, reader }: Parts) {
  const currencies = currenciesOf(spans)
  return (
    <section class="panel wide">
      <div class="head">
        <h2>Value of new deals</h2>
        <Periods period={period} />
      </div>
      <div class="charts">
        {currencies.slice(0, maxColumns).map((currency) => (
          <figure>
            <figcaption>{currency}</figcaption>
            <CurrencyChart spans={spans} period={period} reader={reader} currency={currency} />
          </figure>
        ))}
      </div>
      <Numbers spans={spans} period={period} reader={reader} currencies={currencies.slice(0, maxColumns)} />
      {currencies.length > maxColumns && <p class="hint">{moreCurrencies(currencies.length - maxColumns)}</p>}
    </section>
  )
}

const Periods = ({ period }: { readonly period: Period }) => (
  <nav aria-label="Period" class="tabs small">
    <ul>
      {(['month', 'week'] as const).map((name) => (
        <li>
          <a
            href={name === 'month' ? '/console' : `/console?period=${name}`}
            aria-current={name === period ? 'true' : undefined}
          >
            by {name}
          </a>
        </li>
      ))}
    </ul>
  </nav>
)

/** The currencies of all spans, that of the most deals first. */
export function currenciesOf(spans: readonly SpanValue[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const { currency, count } of spans.flatMap(({ groups }) => groups))
    counts.set(currency, (counts.get(currency) ?? 0) + count)
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([currency]) => currency)
}

interface ChartProps extends Parts {
  readonly currency: string
}

function CurrencyChart({ spans, period, reader, currency }: ChartProps) {
  const short = new Intl.NumberFormat(reader.locale, { notation: 'compact', maximumFractionDigits: 1 })
  const label = labelOf(period, reader)
  const found = spans.map(({ groups, from }) => ({ from, group: groups.find((group) => group.currency === currency) }))
  const bars = found.map(({ from, group }) => ({
    label: label(from),
    value: group?.value ?? 0,
    text: short.format(group?.value ?? 0),
    look: 'plain',
  }))
  const words = found.map(({ from, group }) => `${label(from)} ${reader.money(group?.valueText ?? '0', currency)}`)
  const title = `Value of new deals in ${currency}`
  return <StandingBars id={`value-${currency}`} title={title} bars={bars} description={`${words.join(', ')}.`} />
}

function labelOf(period: Period, { locale }: Reader): (day: string) => string {
  const parts = period === 'month' ? ({ month: 'short' } as const) : ({ day: 'numeric', month: 'short' } as const)
  const format = new Intl.DateTimeFormat(locale, { ...parts, timeZone: 'UTC' })
  return (day) => format.format(new Date(`${day}T00:00:00Z`))
}

function Numbers({ spans, period, reader, currencies }: Parts & { readonly currencies: readonly string[] }) {
  const name = new Intl.DateTimeFormat(reader.locale, { month: 'long', year: 'numeric', timeZone: 'UTC' })
  const columns: Column<SpanValue>[] = [
    {
      title: period === 'month' ? 'Month' : 'Week from',
      cell: ({ from, to }) => (
        <a href={`/console/deals?${new URLSearchParams({ createdFrom: from, createdTo: dayBefore(to) })}`}>
          {period === 'month' ? name.format(new Date(`${from}T00:00:00Z`)) : reader.date(from)}
        </a>
      ),
    },
    {
      title: 'Deals',
      isNumber: true,
      cell: ({ groups }) => reader.number(groups.reduce((sum, { count }) => sum + count, 0)),
    },
    ...currencies.map((currency) => ({
      title: currency,
      isNumber: true,
      cell: ({ groups }: SpanValue) => {
        const group = groups.find((one) => one.currency === currency)
        return group ? reader.money(group.valueText, currency) : '–'
      },
    })),
  ]
  const filled = spans.filter(({ groups }) => groups.length > 0)
  return (
    <>
      <Table
        caption="The numbers as a table"
        columns={columns}
        rows={[...filled].reverse()}
        empty="There are no deals yet."
      />
      {filled.length > 0 && filled.length < spans.length && (
        <p class="hint after">{emptySpans(period, spans.length - filled.length)}</p>
      )}
    </>
  )
}

const dayBefore = (day: string): string => dayOf(Date.parse(day) - dayMs)

const emptySpans = (period: 'month' | 'week', count: number) =>
  `No deal was created in the other ${count === 1 ? period : `${count} ${period}s`} of the chart.`

const moreCurrencies = (count: number) =>
  count === 1 ? '1 more currency is not shown.' : `${count} more currencies are not shown.`
