/** Parts of pages about deals: links, states, days. */
import { rfc3339 } from '../../shared/platform/clock.ts'
import type { Reader } from '../frame/reader.ts'
import { listTexts as texts } from '../texts/lists.ts'

/** The length of a day in milliseconds. */
export const dayMs = 86_400_000

/** The day of a time in UTC, `YYYY-MM-DD`. */
export const dayOf = (time: number): string => rfc3339(time).slice(0, 10)

/** The state of a deal. */
export interface DealState {
  readonly status: 'open' | 'completed' | 'cancelled'
  readonly held: boolean
}

/** The page of a deal. */
export const pathOfDeal = (id: string): string => `/console/deals/${encodeURIComponent(id)}`

/** The state of a deal: never by colour alone. */
export function StateBadges({ status, held }: DealState) {
  return (
    <>
      <span class={`badge ${status}`}>{texts.statuses[status]}</span>
      {held && (
        <>
          {' '}
          <span class="badge held">on hold</span>
        </>
      )}
    </>
  )
}

interface DueProps {
  readonly date: string | null
  /** Whether a day that is over is overdue. */
  readonly isLate: boolean
  readonly today: string
  readonly reader: Reader
}

/** A day on which something is due, with a word when it is over. */
export function Due({ date, isLate, today, reader }: DueProps) {
  if (date === null) return <span>–</span>
  return (
    <>
      {reader.date(date)} {isLate && date < today && <span class="badge bad">overdue</span>}
    </>
  )
}
