import type { LoggedEvent } from './event-log.ts'
import { markedPosition, type Place } from './position.ts'

/** Encodes an event (WHATWG HTML §9.2.6). JSON text has no line breaks, so the envelope is one `data` line. */
export const encodeEvent = (event: Place & Pick<LoggedEvent, 'type'>, envelope: object): Uint8Array =>
  Buffer.from(`id: ${markedPosition(event)}\nevent: ${event.type}\ndata: ${JSON.stringify(envelope)}\n\n`)

/** The text that says: what the client knows is outdated, and the stream goes on after this place. */
export const encodeReset = (place: Place): Uint8Array =>
  encodeEvent({ ...place, type: 'reset' }, { position: markedPosition(place) })
