import { majorUnits } from '../../domain/money.ts'
import { givenAway } from '../../domain/own-deals.ts'
import type { StoredEvent } from '../../events/event-log.ts'
import { markedPosition } from '../../events/position.ts'
import { eventNamed } from '../../use-cases/apply-events.ts'

/** An event in responses: CloudEvents 1.0, with additional members (docs/deal-model.md#event-envelope). */
export const representEvent = (event: StoredEvent) =>
  event.type === givenAway ? { ...notice(event), data: {} } : { ...notice(event), ...whole(event), data: dataOf(event) }

/** The id of the event, its deal and its time: all that somebody learns whose deal was given away. */
const notice = (event: StoredEvent) => ({
  specversion: '1.0',
  id: event.id,
  source: '/rest/v1/deals',
  type: event.type,
  subject: event.dealId,
  time: event.occurredAt,
  datacontenttype: 'application/json',
  schemaversion: event.schemaVersion,
  position: markedPosition(event),
})

const whole = (event: StoredEvent) => ({
  sequence: event.sequence,
  dealVersion: event.dealVersion,
  commandid: event.commandId,
  correlationid: event.correlationId,
  actor: event.actor,
  actorUserId: event.actorUserId,
  ...(event.client && { client: event.client }),
  useCase: event.useCase,
  style: event.style,
})

/** The data of an event, with amounts in major units. Events of a purged deal have no data. */
function dataOf({ type, data, currency }: StoredEvent) {
  const names = eventNamed(type)?.amounts
  if (!names || Object.keys(data).length === 0) return data
  const inMajorUnits = names.map((name) => [name, majorUnits(Number(data[name]), currency)])
  return { ...data, ...Object.fromEntries(inMajorUnits), currency }
}
