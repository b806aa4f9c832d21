/** Records what an operator did offline in the audit log. */
import { type Clock, systemClock } from '../../../shared/platform/clock.ts'
import { OperationError } from '../../../shared/platform/terminal/report.ts'
import type { ChangeEntry } from '../../../shared/protocol/entry-changes.ts'
import { type Origin, operatorScheme } from '../../audit/audit.ts'
import { holdsKeyOfLog } from '../../audit/chain.ts'
import { createChainedLog } from '../../audit/chained-log.ts'
import { eventOf } from '../../audit/change-entries.ts'
import type { AuthData } from './auth-data.ts'

/** Data and services for an entry. */
export interface OperationRecordPorts extends Pick<AuthData, 'database' | 'secretsKeys'> {
  readonly clock: Clock
  /** The name of the operator; undefined when it is not known. */
  readonly operator?: string | undefined
}

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }

/**
 * Runs an operation that changes something. Its entries have the name of the operator, and the scheme `ops` beside it.
 * @throws Unavailable
 */
export async function duringOperation<Result>(
  { operator, ...ports }: OperationRecordPorts,
  run: () => Promise<Result>,
): Promise<Result> {
  const audit = createChainedLog({ ...ports, log: silent })
  const result = await audit.during(originOf(operator), undefined, run)
  await audit.settle()
  return result
}

const originOf = (operator: string | undefined): Origin => ({
  actor: operator ?? null,
  scheme: operator === undefined ? null : operatorScheme,
  address: null,
  requestId: null,
})

/** Numbers the entries that a server left in the journal when it was killed. @throws Unavailable */
export const settleAuditLog = (ports: Pick<AuthData, 'database' | 'secretsKeys'>): Promise<void> =>
  createChainedLog({ ...ports, clock: systemClock, log: silent }).settle()

/**
 * Requires the key of the audit log. An entry under a key that the servers do not hold would break the log. @throws
 * OperationError, Unavailable
 */
export async function requireKeyOfLog(ports: Pick<AuthData, 'database' | 'secretsKeys'>): Promise<void> {
  if (await holdsKeyOfLog(ports)) return
  throw new OperationError('SECRETS_KEY is not that of the servers: the audit log is written under another key.')
}

/** Records what an operator has done. @throws Unavailable */
export async function recordOperation(
  { operator, ...ports }: OperationRecordPorts,
  entry: Pick<ChangeEntry, 'action' | 'target'>,
): Promise<void> {
  const audit = createChainedLog({ ...ports, log: silent })
  await audit.record(eventOf(originOf(operator), entry))
  await audit.settle()
}

/** Records a re-encryption; does nothing if no key of the servers was involved. @throws Unavailable */
export async function recordReencryption(ports: OperationRecordPorts): Promise<void> {
  if (await holdsKeyOfLog(ports)) await recordOperation(ports, { action: 'secrets.reencrypted' })
}
