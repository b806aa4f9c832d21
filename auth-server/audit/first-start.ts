/** The entries of what the first start of an auth server makes, before there is a user who could do it. */
import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import { operatorScheme, type TimedEvent } from './audit.ts'
import type { ChainedLog } from './chained-log.ts'

/** The reason of these entries, and of those of the key ring. */
export const firstStart = 'first start'

/** Data and services for the entries. */
export interface FirstStartPorts {
  readonly audit: Pick<ChainedLog, 'recordOnce'>
  readonly clock: Clock
  /** The user of the operating system; undefined when it has no name. */
  readonly operator: string | undefined
}

/**
 * Writes an entry of each thing that a first start made. None is written twice: a start that was interrupted is
 * completed by the next one. @throws Unavailable
 */
export async function recordFirstStart(
  { audit, clock, operator }: FirstStartPorts,
  made: readonly Pick<TimedEvent, 'action' | 'target'>[],
): Promise<void> {
  const at = rfc3339(clock.now())
  await audit.recordOnce(
    made.map(({ action, target }) => ({
      at,
      actor: operator ?? null,
      action,
      target,
      outcome: 'succeeded',
      scheme: operatorScheme,
      address: null,
      requestId: null,
      reason: firstStart,
    })),
  )
}
