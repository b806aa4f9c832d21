/**
 * The audit log of a worker: the primary process writes the entries of all workers of its machine. Writers wait for
 * each other at the end of the chain, so a machine is one of them, however many workers it has.
 */
import type { Database } from '../../shared/platform/database/database.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { type Channel, defineCall } from '../../shared/platform/workers/channel.ts'
import type { Workers } from '../../shared/platform/workers/primary.ts'
import type { AuditEvent, AuditHead, TimedEvent } from './audit.ts'
import type { ChainedLog } from './chained-log.ts'

const recordCall = defineCall<AuditEvent, void>('audit')
const refusalCall = defineCall<{ readonly event: AuditEvent; readonly times: number | undefined }, void>(
  'audit-refusal',
)
const onceCall = defineCall<readonly TimedEvent[], TimedEvent[]>('audit-once')
const settleCall = defineCall<undefined, void>('audit-settle')
const headCall = defineCall<undefined, AuditHead>('audit-head')

/** Writes the entries of the workers of this machine to `audit`. */
export function auditForWorkers(workers: Workers, audit: ChainedLog): void {
  workers.answer(recordCall, (event) => audit.record(event))
  workers.answer(refusalCall, ({ event, times }) => audit.recordRefusal(event, times))
  workers.answer(onceCall, (events) => audit.recordOnce(events))
  workers.answer(settleCall, () => audit.settle())
  workers.answer(headCall, () => audit.head())
}

/** The systems that a worker uses. */
export interface WorkerAuditPorts {
  readonly database: Pick<Database, 'checkWrites'>
  readonly log: Pick<Log, 'error'>
}

/** The audit log of a worker. */
export function createAuditOfWorker(channel: Channel, { database, log }: WorkerAuditPorts): ChainedLog {
  const logged = async (event: AuditEvent, work: Promise<void>) => {
    try {
      await work
    } catch (err) {
      log.error({ err, auditEvent: event }, 'An audit entry could not be stored')
      throw err
    }
  }
  return {
    check: () => database.checkWrites(),
    record: (event) => logged(event, channel.call(recordCall, event)),
    recordRefusal: (event, times) => logged(event, channel.call(refusalCall, { event, times })),
    recordOnce: (events) => channel.call(onceCall, events),
    settle: () => channel.call(settleCall, undefined),
    head: () => channel.call(headCall, undefined),
    start: () => undefined,
    stop: async () => undefined,
  }
}
