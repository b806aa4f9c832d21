/** The row that counts the changes of principals and names the instance. */
import { type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../shared/platform/database/database.ts'
import { sqlTextOf } from '../../shared/platform/database/statement.ts'
import {
  formerHistoriesSql,
  historyNumberSql,
  historySql,
  requirePrimary,
} from '../../shared/platform/history/history.ts'
import type { Succession } from '../../shared/protocol/principal/succession.ts'
import { c } from '../store/aliases.ts'
import { principalChangeCounter } from '../store/schema.ts'

/** The error message when the row is missing. */
export const noCounter = 'auth.principal_change_counter has no row: the migrations have not all been applied'

/** The contents of the row. */
export interface ChangeCounter {
  /** The instance id of the database, see `instanceIdSql`. */
  readonly instanceId: string
  /** The latest principal version. */
  readonly value: number
}

/** The database was replaced by another one, or another server took over, while this process ran. */
export class OtherInstance extends Error {
  override readonly name = 'OtherInstance'
}

/** SQL for the instance id in a history. */
const instanceIdOf = (history: SQL): SQL => {
  const digest = sql`encode(sha256(convert_to(${c.instanceId} || ' ' || ${history}, 'UTF8')), 'hex')`
  return sql`overlay(overlay(left(${digest}, 32) placing '8' from 13) placing '8' from 17)::uuid::text`
}

/**
 * SQL for the instance id, in a statement over `auth.principal_change_counter c`: a UUID made of the installation id in
 * that row and of the history (version 8, RFC 9562 §5.8). A version number means one change within one instance only,
 * so whatever reads version numbers reads this with the same statement. Null on a standby.
 */
export const instanceIdSql = instanceIdOf(sql.raw(historySql))

const counterSql = sqlTextOf(sql`select ${c.value}::text as value, ${instanceIdSql} as "instanceId"
  from ${principalChangeCounter} ${c}`)

/** Reads the row. @throws Unavailable */
export async function readChangeCounter(database: Database): Promise<ChangeCounter> {
  const [row] = await database.query<{ value: string; instanceId: string | null }>(counterSql)
  if (!row) throw new TypeError(noCounter)
  return { instanceId: requirePrimary(row.instanceId), value: Number(row.value) }
}

const successionSql =
  sqlTextOf(sql`select json_build_object('instanceId', ${instanceIdSql}, 'number', p.number, 'formers',
    array(select ${instanceIdOf(sql`f.history`)} from (${sql.raw(formerHistoriesSql('p.number'))}) f)) as succession
  from ${principalChangeCounter} ${c}, lateral (select ${sql.raw(historyNumberSql)} as number) p`)

/** Reads which instances came before this one on the same cluster. @throws Unavailable */
export async function readSuccession(database: Database): Promise<Succession> {
  type Found = Omit<Succession, 'instanceId'> & { readonly instanceId: string | null }
  const [row] = await database.query<{ readonly succession: Found }>(successionSql)
  if (!row) throw new TypeError(noCounter)
  return { ...row.succession, instanceId: requirePrimary(row.succession.instanceId) }
}

/** Checks that data come from the expected instance. @throws OtherInstance */
export function assertSameInstance(found: { readonly instanceId: string }, expected: string): void {
  if (found.instanceId === expected) return
  throw new OtherInstance(`another database or server took over: it is instance ${found.instanceId} now`)
}
