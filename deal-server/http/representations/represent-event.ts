import { type DealEventType, eventAmounts } from '../../domain/events.ts'
import { majorUnits } from '../../domain/money.ts'
import type { StoredEvent } from '../../events/event-log.ts'
import { markedPosition } from '../../events/position.ts'

/** An event in responses: CloudEvents 1.0, with additional members (docs/deal-model.md#event-envelope). */
export const representEvent = (event: StoredEvent) => ({
  specversion: '1.0',
  id: event.id,
  source: '/rest/v1/deals',
  type: event.type,
  subject: event.dealId,
  time: event.occurredAt,
  datacontenttype: 'application/json',
  schemaversion: event.schemaVersion,
  sequence: event.sequence,
  dealVersion: event.dealVersion,
  position: markedPosition(event),
  commandid: event.commandId,
  correlationid: event.correlationId,
  actor: event.actor,
  actorUserId: event.actorUserId,
  useCase: event.useCase,
  style: event.style,
  data: dataOf(event),
})

/** The data of an event, with amounts in major units. Events of a purged deal have no data. */
function dataOf({ type, data, currency }: StoredEvent) {
  const names: readonly string[] | undefined = eventAmounts[type as DealEventType]
  if (!names || Object.keys(data).length === 0) return data
  const inMajorUnits = names.map((name) => [name, majorUnits(Number(data[name]), currency)])
  return { ...data, ...Object.fromEntries(inMajorUnits), currency }
}
