/** The head of the chain, as it is stored. */
import { sql } from 'drizzle-orm'
import type { Database } from '../../shared/platform/database/database.ts'
import { parameters, sqlTextOf } from '../../shared/platform/database/statement.ts'
import { auditEntries, auditHead, auditStart } from '../store/audit-tables.ts'
import type { AuditHead } from './audit.ts'

const headSql = sqlTextOf(sql`
  select json_build_object('count', ${auditHead.count}, 'digest', ${auditHead.mac}) as head from ${auditHead}`)

/** Reads the head. @throws Unavailable */
export async function readHead(database: Database): Promise<AuditHead> {
  const [row] = await database.query<{ head: AuditHead }>(headSql)
  return row?.head ?? noHead()
}

const head = parameters({ count: 'bigint', digest: 'text' })
const hasHeadSql = head.statement(sql`select exists (
    select from ${auditEntries} where ${auditEntries.seq} = ${head.count} and ${auditEntries.mac} = ${head.digest})
  or exists (select from ${auditStart} where ${auditStart.count} >= ${head.count}) as has`)

/** True when this was the head of the log once, and when its entry was dropped. @throws Unavailable */
export async function hasHead(database: Database, { count, digest }: AuditHead): Promise<boolean> {
  if (count === 0) return true
  const [row] = await database.query<{ has: boolean }>(...hasHeadSql({ count, digest }))
  return row?.has === true
}

/** The error when the head has no row. */
export function noHead(): never {
  throw new Error('auth.audit_head has no row: the migrations have not all been applied')
}
