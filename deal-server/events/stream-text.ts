/** The text of events on streams (WHATWG HTML §9.2.6). */
import { randomUUID } from 'node:crypto'
import { timelineMark } from '../../shared/platform/database/timeline.ts'
import { type GivenPosition, type LoggedEvent, markedPosition, type StoredEvent } from './event-log.ts'
import type { FeedPosition } from './feed-position.ts'

/** An event or a reset as it is written to streams. */
export interface StreamText {
  /** Its length in bytes, with the event's own position. JSON text has no line breaks: `data` is one line. */
  readonly length: number
  /** The position in its log of a client that got it. */
  readonly position: GivenPosition
  /** What is written to a client whose position is then this one; undefined: with the event's own position. */
  at(position: FeedPosition | undefined): Uint8Array
}

/** Makes the envelope of an event, with this position if it is not the event's own. */
export type Represent = (event: LoggedEvent, position?: string) => object

/** Encodes events, and says where a reset leads to. */
export interface StreamTexts {
  event(event: LoggedEvent): StreamText
  reset(place: AtPosition): StreamText
}

/** The texts of streams over so many logs. Each event is encoded once for all clients. */
export function createStreamTexts(represent: Represent, logs: number): StreamTexts {
  // Stands for the position in what is encoded. Nobody can guess it, so no event has it.
  const slot = randomUUID()
  const encode = (place: AtPosition, type: string, envelopeAt: (position?: string) => object): StreamText => {
    const own = markedPosition(place)
    const textAt = (position: string, envelope: object) =>
      `id: ${position}\nevent: ${type}\ndata: ${JSON.stringify(envelope)}\n\n`
    const position = { position: place.position, mark: timelineMark(place.timeline) }
    const text = logs === 1 ? textAt(own, envelopeAt()) : textAt(slot, envelopeAt(slot))
    const pieces = text.split(slot)
    const bytes = Buffer.from(pieces.join(own))
    return {
      position,
      length: bytes.length,
      at: (client) => (client === undefined ? bytes : Buffer.from(pieces.join(client.text()))),
    }
  }
  return {
    event: (event) => encode(event, event.type, (position) => represent(event, position)),
    reset: (place) => encode(place, 'reset', (position = markedPosition(place)) => ({ position })),
  }
}

type AtPosition = Pick<StoredEvent, 'position' | 'timeline'>
