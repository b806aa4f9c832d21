/**
 * Where the audit log begins: the entries up to there were dropped. It is sealed under a key from SECRETS_KEY, so that
 * nobody else can hide entries behind it.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { sql } from 'drizzle-orm'
import type { Database } from '../../shared/platform/database/database.ts'
import { sqlTextOf } from '../../shared/platform/database/statement.ts'
import { auditStart } from '../store/audit-tables.ts'
import type { SecretsKey, SecretsKeys } from '../store/secrets-keys.ts'
import type { AuditHead } from './audit.ts'

/** The last entry that was dropped, by number and MAC, with a seal; the empty log, without a seal, when none was. */
export interface LogStart extends AuditHead {
  /** The month that release 0.3.0 has moved to an archive, `2026-01`; empty for dropped entries. */
  readonly month: string
  /** The id of the key of SECRETS_KEY that made the seal. */
  readonly keyId: string
  /** HMAC-SHA256, base64url. */
  readonly seal: string
}

/** What is wrong with a seal. */
export type SealFault = 'unknown-key' | 'broken'

/** SQL of the start as JSON. */
export const logStartSql = sql`(select json_build_object('count', ${auditStart.count}, 'digest', ${auditStart.mac},
  'month', ${auditStart.month}, 'keyId', ${auditStart.keyId}, 'seal', ${auditStart.seal}) from ${auditStart})`

const readSql = sqlTextOf(sql`select ${logStartSql} as start`)

/** Nothing was dropped. */
export const nothingDropped: LogStart = { count: 0, digest: '', month: '', keyId: '', seal: '' }

/** @throws Unavailable */
export async function readLogStart(database: Database): Promise<LogStart> {
  const [row] = await database.query<{ start: LogStart | null }>(readSql)
  return row?.start ?? nothingDropped
}

/** Seals a start. */
export const sealStart = (key: SecretsKey, { count, digest }: AuditHead): LogStart => ({
  count,
  digest,
  month: '',
  keyId: key.id,
  seal: sealOf(key, { count, digest, month: '' }),
})

/** What is wrong with a stored start; undefined for a right one. */
export function faultOfStart(keys: SecretsKeys, { keyId, seal, ...head }: LogStart): SealFault | undefined {
  if (head.count === 0 && head.digest === '') return undefined
  const key = keys.find(({ id }) => id === keyId)
  if (key === undefined) return 'unknown-key'
  const [right, given] = [Buffer.from(sealOf(key, head)), Buffer.from(seal)]
  return right.length === given.length && timingSafeEqual(right, given) ? undefined : 'broken'
}

/** As release 0.3.0 seals its archive: an upgraded log begins behind what was archived. */
const sealOf = (key: SecretsKey, { count, digest, month }: Omit<LogStart, 'keyId' | 'seal'>): string =>
  createHmac('sha256', key.derive('audit archive'))
    .update(JSON.stringify(['head', key.id, { count, digest, month }]))
    .digest('base64url')
