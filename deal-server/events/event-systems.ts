import type { Systems } from '../../shared/platform/systems/systems.ts'
import type { EventLog, LoggedEvent } from './event-log.ts'

/** The systems of a deal server that shows events. */
export interface EventSystems extends Systems {
  readonly eventLog: EventLog
  /** Makes the envelope of an event. */
  readonly represent: (event: LoggedEvent) => object
}
