/** Ready views of the list of deals: each is a query. */
import { dayMs, dayOf } from '../parts/deal-parts.tsx'

/** A view. */
export interface View {
  readonly text: string
  readonly query: URLSearchParams
}

/** The first and the last day of the month of a time, in UTC. */
export function monthOf(time: number): readonly [first: string, last: string] {
  const now = new Date(time)
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
  return [dayOf(Date.UTC(year, month, 1)), dayOf(Date.UTC(year, month + 1, 0))]
}

/** The views of a reader, now. */
export function readyViews(username: string, now: number): readonly View[] {
  const [completionFrom, completionTo] = monthOf(now)
  const view = (text: string, query: Readonly<Record<string, string>>) => ({ text, query: new URLSearchParams(query) })
  return [
    view('All', {}),
    view('My open deals', { status: 'open', ownerId: username }),
    view('On hold', { held: 'true' }),
    view('Due this month', { status: 'open', completionFrom, completionTo, sort: 'completionDate' }),
    view('Overdue', { status: 'open', completionTo: dayOf(now - dayMs), sort: 'completionDate' }),
    view('Recently changed', { sort: '-updatedAt' }),
  ]
}

/** True when a query shows a view: on any page, with pages of any size. */
export function isShown(view: View, query: URLSearchParams): boolean {
  const textOf = (members: URLSearchParams) => {
    const kept = [...members].filter(([name]) => name !== 'cursor' && name !== 'limit')
    return JSON.stringify(kept.sort())
  }
  return textOf(view.query) === textOf(query)
}
