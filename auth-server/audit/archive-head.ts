/** Where the audit log of the database begins: the entries up to there are in the archive, in files. */
import { sql } from 'drizzle-orm'
import type { Database } from '../../shared/platform/database/database.ts'
import { textOf } from '../../shared/platform/database/statement.ts'
import { auditArchive, auditEntries } from '../store/audit-tables.ts'
import type { SecretsKey, SecretsKeys } from '../store/secrets-keys.ts'
import { faultOfSeal, type Seal, type Sealable, type SealFault, sealWith } from './archive-seal.ts'
import type { AuditHead } from './audit.ts'

/** The last entry that was removed, by number and MAC, and its month; the empty log when none was. */
export interface ArchiveHead extends AuditHead {
  /** `2026-01`; empty when nothing was removed. */
  readonly month: string
}

/** The head as it is stored, with its seal, which is empty for the empty log. */
export interface SealedHead extends ArchiveHead, Seal {}

/** SQL of the head as JSON. */
export const archiveHeadSql = sql`(select json_build_object(
  'count', ${auditArchive.count}, 'digest', ${auditArchive.mac},
  'month', ${auditArchive.month}, 'keyId', ${auditArchive.keyId}, 'seal', ${auditArchive.seal}) from ${auditArchive})`

const readSql = textOf(sql`select ${archiveHeadSql} as head`)

/** Nothing is archived. */
export const nothingArchived: SealedHead = { count: 0, digest: '', month: '', keyId: '', seal: '' }

/** @throws Unavailable */
export async function readArchiveHead(database: Pick<Database, 'query'>): Promise<SealedHead> {
  const [row] = await database.query<{ head: SealedHead | null }>(readSql)
  return row?.head ?? nothingArchived
}

const purpose = 'head'

const membersOf = ({ count, digest, month }: ArchiveHead): Sealable => ({ count, digest, month })

/** Seals a head. */
export function sealHead(key: SecretsKey, head: ArchiveHead): SealedHead {
  return { ...head, ...sealWith(key, purpose, membersOf(head)) }
}

/** What is wrong with a stored head; undefined for a right one. The head of the empty log needs no seal. */
export function faultOfHead(keys: SecretsKeys, head: SealedHead): SealFault | undefined {
  const { count, digest, keyId, seal } = head
  if (count === 0 && digest === '') return undefined
  return faultOfSeal(keys, { purpose, members: membersOf(head), keyId, seal })
}

/** How long audit entries are usually wanted at hand, in months. */
export const usualMonths = 13

/** SQL for the month of an entry. */
export const monthSql = sql`to_char(${auditEntries.at} at time zone 'UTC', 'YYYY-MM')`

const firstMonthSql = textOf(sql`select ${monthSql} as month from ${auditEntries} order by ${auditEntries.seq} limit 1`)

/** The month before which the log may well be archived; undefined when its entries are younger. @throws Unavailable */
export async function dueMonth(database: Pick<Database, 'query'>, now: number): Promise<string | undefined> {
  const [row] = await database.query<{ month: string }>(firstMonthSql)
  const limit = monthOf(new Date(now), -usualMonths)
  return row !== undefined && row.month < limit ? limit : undefined
}

/** The month of a time in UTC, or the one so many months behind it. */
export const monthOf = (time: Date, behind = 0): string =>
  new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + behind)).toISOString().slice(0, 7)

/** The month behind this one. */
export const monthAfter = (month: string): string => monthOf(new Date(`${month}-01T00:00:00Z`), 1)
