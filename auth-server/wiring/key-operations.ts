/**
 * Records each change of the key ring in the audit log and in the metrics, exactly once, whoever made it: a ring shows
 * what its keys went through, and the log shows what was recorded. So every auth server may look at any time: at its
 * start, and when the ring changes. The tool of the operators needs no database.
 */
import { rfc3339 } from '../../shared/platform/clock.ts'
import type { Systems } from '../../shared/platform/systems/systems.ts'
import { operatorScheme, type TimedEvent } from '../audit/audit.ts'
import type { ChainedLog } from '../audit/chained-log.ts'
import { type KeyOperationName, keyOperations } from '../key-ring/key-operations.ts'
import type { KeyRing } from '../key-ring/key-ring.ts'
import { keyUses } from '../key-ring/keyring-file.ts'
import type { NotedOperation } from '../key-ring/operator-notes.ts'

interface Recorded extends Systems {
  readonly keyRing: KeyRing
  readonly audit: ChainedLog
}

/** The wait before another attempt, in milliseconds. */
const retryMs = 5_000

/** The actions in the audit log. */
const actions = {
  generate: 'key.generated',
  promote: 'key.promoted',
  retire: 'key.retired',
  remove: 'key.removed',
  revoke: 'key.revoked',
} as const satisfies Record<KeyOperationName, string>

/** Creates the recording. It never rejects: a failure is logged, and tried again. */
export function createKeyOperationRecording(ports: Recorded) {
  const { keyRing, log, metrics } = ports
  const counter = metrics.counter({
    name: 'key_operations_total',
    help: 'Operations on keys of the ring, each counted by the server that recorded it.',
    labels: ['operation', 'use'],
  })
  for (const operation of keyOperations) for (const use of keyUses) counter.inc({ server: 'auth', operation, use }, 0)
  let isRunning = false
  let timer: NodeJS.Timeout | undefined
  let latest: Promise<void> = Promise.resolve()
  const recordAll = async (): Promise<void> => {
    if (!isRunning) return
    clearTimeout(timer)
    try {
      for (const { operation, use, kid } of await record(ports)) {
        counter.inc({ server: 'auth', operation, use })
        log.info({ operation, use, kid }, 'Key ring: recorded an operation')
      }
    } catch (err) {
      log.warn({ err }, 'Key ring: operations could not be recorded. Trying again.')
      if (isRunning) timer = setTimeout(run, retryMs).unref()
    }
  }
  const run = () => {
    latest = latest.then(recordAll)
  }
  keyRing.onChange(run)
  return {
    start: () => {
      isRunning = true
      run()
    },
    /** Stops, and waits for the entry that is being stored. */
    stop: async () => {
      isRunning = false
      clearTimeout(timer)
      await latest
    },
  }
}

/** Records what was not recorded yet, and resolves to it. @throws Unavailable */
async function record({ keyRing, audit, clock }: Recorded): Promise<NotedOperation[]> {
  const operations = await keyRing.operations()
  const events = operations.map((operation) => eventOf(operation, clock.now()))
  const recorded = new Set(await audit.recordOnce(events))
  return operations.filter((_, index) => recorded.has(events[index] as TimedEvent))
}

/** The event of an operation. An entry has the time of the operation, but none in the future. */
function eventOf({ operation, kid, at, reason, note }: NotedOperation, now: number): TimedEvent {
  const time = Math.min(now, Date.parse(at ?? note?.at ?? '') || now)
  return {
    at: rfc3339(time),
    actor: note?.operator ?? null,
    action: actions[operation],
    target: kid,
    outcome: 'succeeded',
    scheme: note ? operatorScheme : null,
    address: null,
    requestId: null,
    reason: note?.reason ?? reason,
  }
}
