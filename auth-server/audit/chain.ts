import { createHmac } from 'node:crypto'
import { sql } from 'drizzle-orm'
import type { Database } from '../../shared/platform/database/database.ts'
import { sqlTextOf } from '../../shared/platform/database/statement.ts'
import { auditEntries, auditStart } from '../store/audit-tables.ts'
import type { SecretsKey, SecretsKeys } from '../store/secrets-keys.ts'
import type { AuditEntry } from './audit.ts'

/** Computes the MAC of an entry, with one key of SECRETS_KEY. */
export type Mac = (entry: AuditEntry, macBefore: string) => string

/** Creates MACs with a key that is derived from this one only for the audit log. */
export function macUnder(secretsKey: SecretsKey): Mac {
  const key = secretsKey.derive('audit')
  return (entry, macBefore) =>
    createHmac('sha256', key)
      .update(canonical(entry, macBefore, secretsKey.id))
      .digest('base64url')
}

/**
 * The canonical JSON (RFC 8785) of an entry and the MAC before it: members sorted by name. The strings have no lone
 * surrogates and the numbers are integers, so JSON.stringify writes their canonical form (RFC 8785 §3.2.2).
 */
function canonical(entry: AuditEntry, macBefore: string, keyId: string): string {
  const { action, actor, address, at, changes, outcome, requestId, scheme, seq, target } = entry
  // Left out when they are null, 1, null and undefined: older entries have none of them and must keep their MAC.
  const client = entry.client ?? undefined
  const count = entry.count === 1 ? undefined : entry.count
  const reason = entry.reason ?? undefined
  return JSON.stringify({
    action,
    actor,
    address,
    at,
    changes,
    client,
    count,
    keyId,
    macBefore,
    outcome,
    reason,
    requestId,
    scheme,
    seq,
    target,
  })
}

interface KeyOfLogPorts {
  readonly database: Database
  readonly secretsKeys: SecretsKeys
}

const lastKeySql = sqlTextOf(sql`select coalesce(
    (select ${auditEntries.keyId} from ${auditEntries} order by ${auditEntries.seq} desc limit 1),
    (select nullif(${auditStart.keyId}, '') from ${auditStart})) as "keyId"`)

/**
 * True when SECRETS_KEY holds the key of the last entry, and for an empty log. When all entries were dropped, it is
 * the key that the start of the log was sealed with. @throws Unavailable
 */
export async function holdsKeyOfLog({ database, secretsKeys }: KeyOfLogPorts): Promise<boolean> {
  const [last] = await database.query<{ keyId: string | null }>(lastKeySql)
  return !last?.keyId || secretsKeys.some(({ id }) => id === last.keyId)
}
