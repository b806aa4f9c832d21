/** The sums of the dashboard: deals by state, and the value of new deals. They read all deals. */
import type { Clock } from '../../shared/platform/clock.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import type { DealApi, DealReply } from '../frame/deal-api.ts'
import { dayMs, dayOf } from '../parts/deal-parts.tsx'
import { shareReading } from './share-reading.ts'

/** A group of a summary. */
export type Group = DealReply<'GET /rest/v1/deals/summary'>['items'][number]

/** A span of time: the first day, and the first day after it. */
export interface Span {
  readonly from: string
  readonly to: string
}

/** The value of the deals that were created in a span, by currency. */
export interface SpanValue extends Span {
  readonly groups: readonly Pick<Group, 'currency' | 'count' | 'value' | 'valueText'>[]
}

/** The lengths of spans. */
export type Period = 'month' | 'week'

/** All sums of the dashboard. */
export interface Sums {
  readonly groups: readonly Group[]
  readonly spans: readonly SpanValue[]
}

/** Reads the sums, or gives those that were just read. Undefined when they take too long now. */
export type ReadSums = (
  of: { readonly api: DealApi; readonly caller: Pick<Caller, 'rights'> },
  period: Period,
) => Promise<Sums | undefined>

/** How many spans the chart has. */
const spanCount = 6

/** The last spans, the present one last; days in UTC. */
export function lastSpans(period: Period, now: number): readonly Span[] {
  const today = new Date(now)
  const monday = Date.parse(dayOf(now)) - ((today.getUTCDay() + 6) % 7) * dayMs
  const beginOf = (back: number) =>
    period === 'week'
      ? dayOf(monday - back * 7 * dayMs)
      : dayOf(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - back, 1))
  return Array.from({ length: spanCount }, (_, index) => {
    const back = spanCount - 1 - index
    return { from: beginOf(back), to: beginOf(back - 1) }
  })
}

/** Makes the reader of the sums, one for each server. */
export function createReadSums(clock: Clock): ReadSums {
  const shared = (period: Period) => shareReading(clock, (api) => readSums(api, lastSpans(period, clock.now())))
  const readings = { month: shared('month'), week: shared('week') }
  return ({ api, caller }, period) => readings[period](api, caller)
}

/** One after the other: a server runs only few sums at once. @throws RefusedCall */
async function readSums(api: DealApi, spans: readonly Span[]): Promise<Sums> {
  const summary = (query: Readonly<Record<string, string>>) => api.get('GET /rest/v1/deals/summary', { query })
  const { items: groups } = await summary({})
  const values: SpanValue[] = []
  for (const { from, to } of spans) {
    const times = { createdFrom: `${from}T00:00:00Z`, createdTo: `${to}T00:00:00Z` }
    values.push({ from, to, groups: (await summary({ by: 'currency', ...times })).items })
  }
  return { groups, spans: values }
}
