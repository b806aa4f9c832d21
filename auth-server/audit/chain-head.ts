/** The head of the chain, as it is stored. */
import type { Database } from '../../shared/platform/database/database.ts'
import type { AuditHead } from './audit.ts'

/** Reads the head. @throws Unavailable */
export async function readHead(database: Pick<Database, 'query'>): Promise<AuditHead> {
  const [row] = await database.query<{ head: AuditHead }>(
    "select json_build_object('count', count, 'digest', mac) as head from auth.audit_head",
  )
  return row?.head ?? noHead()
}

const hasHeadSql = `select exists (select from auth.audit_entries where seq = $1::text::bigint and mac = $2::text)
  or exists (select from auth.audit_archive where count >= $1::text::bigint) as has`

/** True when this was the head of the log once, and when its entry is archived. @throws Unavailable */
export async function hasHead(database: Pick<Database, 'query'>, { count, digest }: AuditHead): Promise<boolean> {
  if (count === 0) return true
  const [row] = await database.query<{ has: boolean }>(hasHeadSql, [String(count), digest])
  return row?.has === true
}

/** The error when the head has no row. */
export function noHead(): never {
  throw new Error('auth.audit_head has no row: the migrations have not all been applied')
}
