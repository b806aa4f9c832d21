/** The filters of the page of deals: those of the list of the API, with days where the API has times. */
import type { FieldProps } from '../frame/fields.tsx'
import { listTexts as texts } from '../texts/lists.ts'
import { dayMs } from './deal-parts.tsx'

/** A field of the form of filters. */
export interface FilterField extends FieldProps {
  /** Always seen; others are behind "more filters". */
  readonly isCommon?: boolean
}

const { labels } = texts
const field = (name: keyof typeof labels, parts: Partial<FilterField> = {}): FilterField => ({
  name,
  label: labels[name],
  ...parts,
})

const statuses = [
  { value: '', text: 'All' },
  ...Object.entries(texts.statuses).map(([value, text]) => ({ value, text })),
]
const holds = [
  { value: '', text: 'All' },
  { value: 'true', text: 'On hold' },
  { value: 'false', text: 'Not on hold' },
]

const filterFields: readonly FilterField[] = [
  field('q', { kind: 'search', isCommon: true, maxLength: 200 }),
  field('status', { kind: 'select', options: statuses, isCommon: true }),
  field('held', { kind: 'select', options: holds, isCommon: true }),
  field('ownerId', { isCommon: true, maxLength: 64 }),
  field('currency', { hint: 'Such as EUR; needed for prices.', maxLength: 3 }),
  field('priceMin', { maxLength: 16 }),
  field('priceMax', { maxLength: 16 }),
  field('completionFrom', { kind: 'date' }),
  field('completionTo', { kind: 'date' }),
  field('createdFrom', { kind: 'date' }),
  field('createdTo', { kind: 'date' }),
  field('updatedFrom', { kind: 'date' }),
  field('updatedTo', { kind: 'date' }),
  field('id', { hint: 'Ids of deals with commas between.' }),
]

const dealFilterNames: readonly string[] = filterFields.map(({ name }) => name)

/** The order and the size of pages when the URL names none. */
export const defaults: Readonly<Record<string, string>> = { sort: '-createdAt', limit: '25' }

const sorts = Object.entries(texts.sorts).flatMap(([by, [up, down]]) => [
  { value: by, text: up },
  { value: `-${by}`, text: down },
])
const limits = ['25', '50', '100', '200'].map((value) => ({ value, text: value }))

/** The fields of the form, with what the URL has and what is wrong with it. */
export function filledFields(query: URLSearchParams, errors: Readonly<Record<string, string>>): FilterField[] {
  const all = [
    ...filterFields,
    field('sort', { kind: 'select', options: sorts }),
    field('limit', { kind: 'select', options: limits }),
  ]
  return all.map((filter) => {
    const value = query.get(filter.name) ?? defaults[filter.name] ?? ''
    const options = filter.options && withOption(filter.options, value)
    // A field for dates would not show another text.
    const kind = filter.kind === 'date' && value !== '' && !isDay(value) ? 'text' : filter.kind
    return {
      ...filter,
      value,
      error: errors[filter.name],
      ...(kind && { kind }),
      ...(options && { options }),
    }
  })
}

type Options = NonNullable<FieldProps['options']>

const withOption = (options: Options, value: string): Options =>
  options.some((option) => option.value === value) ? options : [...options, { value, text: value }]

/** How many filters are set. */
export const activeFilters = (query: URLSearchParams): number =>
  dealFilterNames.filter((name) => (query.get(name) ?? '') !== '').length

/** The query without empty and needless members, in the same order; undefined when there is nothing to leave out. */
export function cleanQuery(query: URLSearchParams): URLSearchParams | undefined {
  const kept = [...query].filter(([name, value]) => value !== '' && defaults[name] !== value)
  return kept.length === query.size ? undefined : new URLSearchParams(kept)
}

const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text)

/** The query of the API. Days become times in UTC: the end of a span is the start of the next day. */
export function apiQuery(query: URLSearchParams): URLSearchParams {
  const members = [...query].filter(([, value]) => value !== '')
  return new URLSearchParams(members.map(([name, value]): [string, string] => [name, timeOf(name, value)]))
}

function timeOf(name: string, value: string): string {
  const [, end] = /^(?:created|updated)(From|To)$/.exec(name) ?? []
  if (end === undefined || !isDay(value)) return value
  const begin = Date.parse(`${value}T00:00:00Z`)
  // The API says what is wrong with a day that no month has.
  if (Number.isNaN(begin) || !new Date(begin).toISOString().startsWith(value)) return value
  return new Date(begin + (end === 'To' ? dayMs : 0)).toISOString()
}
