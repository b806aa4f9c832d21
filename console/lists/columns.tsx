/** The columns of the list of deals. */
import { columnFields } from '../../deal-server/domain/deal-fields.ts'
import { type Column, Time } from '../frame/content.tsx'
import type { DealReply } from '../frame/deal-api.ts'
import type { Reader } from '../frame/reader.ts'
import { Due, pathOfDeal, StateBadges } from '../parts/deal-parts.tsx'
import { defaults } from '../parts/filters.ts'
import { listTexts as texts } from '../texts/lists.ts'

type Deal = DealReply<'GET /rest/v1/deals'>['items'][number]

const ownMembers = [
  'name',
  'status',
  'held',
  'priceText',
  'currency',
  'completionDate',
  'version',
  'createdAt',
  'updatedAt',
] as const satisfies readonly (keyof Deal)[]

/** The members that the list asks for. */
export const listedMembers = [...ownMembers, ...columnFields.map(({ name }) => name)]

/** A deal with these members. */
export type ListedDeal = Pick<Deal, 'id' | (typeof listedMembers)[number]>

interface Shown {
  readonly reader: Reader
  readonly query: URLSearchParams
  /** `YYYY-MM-DD`. */
  readonly today: string
}

/** The columns, whose titles sort. */
export function dealColumns({ reader, query, today }: Shown): Column<ListedDeal>[] {
  const sortedBy = (by: string, first: '' | '-' = '') => ({ sort: sortOf(query, by, first) })
  // The API refuses to compare prices of several currencies.
  const byPrice = query.has('currency') ? sortedBy('price', '-') : {}
  return [
    { title: 'Deal', ...sortedBy('name'), cell: ({ id, name }) => <a href={pathOfDeal(id)}>{name}</a> },
    { title: 'Status', isShort: true, ...sortedBy('status'), cell: (deal) => <StateBadges {...deal} /> },
    {
      title: 'Price',
      isNumber: true,
      ...byPrice,
      cell: ({ priceText, currency }) => reader.money(priceText, currency),
    },
    {
      title: 'Completion date',
      isShort: true,
      ...sortedBy('completionDate'),
      cell: ({ completionDate, status }) => (
        <Due date={completionDate} isLate={status === 'open'} today={today} reader={reader} />
      ),
    },
    ...columnFields.map(({ name, label }) => ({
      title: label,
      ...(Object.hasOwn(texts.sorts, name) ? sortedBy(name) : {}),
      cell: (deal: ListedDeal) => deal[name] ?? '',
    })),
    {
      title: 'Created',
      isShort: true,
      ...sortedBy('createdAt', '-'),
      cell: ({ createdAt }) => reader.date(createdAt.slice(0, 10)),
    },
    {
      title: 'Changed',
      isShort: true,
      ...sortedBy('updatedAt', '-'),
      cell: ({ updatedAt }) => <Time time={updatedAt} reader={reader} />,
    },
  ]
}

/** The link of a title: the first press sorts in the usual direction, the next one turns it round. */
function sortOf(query: URLSearchParams, by: string, first: '' | '-') {
  const current = query.get('sort') ?? defaults.sort
  const isUp = current === by
  const isDown = current === `-${by}`
  const other = first === '-' ? by : `-${by}`
  const next = new URLSearchParams(query)
  next.delete('cursor')
  next.set('sort', current === first + by ? other : first + by)
  if (next.get('sort') === defaults.sort) next.delete('sort')
  const direction = isUp ? ('ascending' as const) : isDown ? ('descending' as const) : undefined
  return { href: `/console/deals${next.size > 0 ? `?${next}` : ''}`, direction }
}
