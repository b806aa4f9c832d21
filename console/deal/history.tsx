/** What happened to a deal, the oldest first. */

import type { TaskView } from '../deal-forms/deal-view.ts'
import { Time } from '../frame/content.tsx'
import type { DealReply } from '../frame/deal-api.ts'
import type { Reader } from '../frame/reader.ts'
import { wordsOf } from './event-words.ts'

/** An event. */
export type EventView = DealReply<'GET /rest/v1/deals/:id/history'>['items'][number]

interface HistoryProps {
  readonly events: readonly EventView[]
  readonly tasks: readonly TaskView[]
  readonly reader: Reader
}

/** The list of events. */
export function History({ events, tasks, reader }: HistoryProps) {
  const titles = new Map(tasks.map(({ id, title }) => [id, title]))
  return (
    <ol class="history" start={events[0]?.sequence}>
      {events.map((event) => {
        const { phrase, details } = wordsOf(event, { reader, titles })
        return (
          <li>
            <p>
              <strong>{event.actor}</strong>
              {event.client && `, by ${event.client.name},`} {phrase}{' '}
              <span class="hint">
                <Time time={event.time} reader={reader} />
              </span>
            </p>
            {details.map((detail) => (
              <p class="lines detail">{detail}</p>
            ))}
          </li>
        )
      })}
    </ol>
  )
}
