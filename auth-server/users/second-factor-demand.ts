/**
 * Who needs a second factor (docs/contract/logins.md#second-factor): users with a role of SECOND_FACTOR_ROLES, users
 * who have directly what only these roles give, and users who have set one up.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Database } from '../../shared/platform/database/database.ts'
import { build, textOf } from '../../shared/platform/database/statement.ts'
import { c, u } from '../store/aliases.ts'
import { principalChangeCounter, users } from '../store/schema.ts'
import { secondFactors } from '../store/second-factor-tables.ts'
import { changePrincipal } from './principal-change.ts'
import { type Role, rightsOfThese } from './rights.ts'

const s = alias(secondFactors, 's')

/** SQL condition on a row `u` of auth.users: it needs a second factor. Roles and rights come from a fixed table. */
export function secondFactorDemandSql(roles: readonly Role[]): SQL {
  const anyOf = (column: SQLWrapper, names: readonly string[]) =>
    names.length === 0 ? [] : [sql`${column} && array[${sql.raw(names.map((name) => `'${name}'`).join(', '))}]::text[]`]
  const demands = [
    ...anyOf(u.roles, roles),
    ...anyOf(u.rights, rightsOfThese(roles)),
    sql`exists (select 1 from ${secondFactors} ${s} where ${s.userId} = ${u.id})`,
  ]
  return sql`(${sql.join(demands, sql` or `)})`
}

/**
 * The text of a statement with this condition in it. It is written once for each list of roles, of which a process has
 * one: SECOND_FACTOR_ROLES.
 */
export function textOfDemand(statement: (demand: SQL) => SQL): (roles: readonly Role[]) => string {
  let [known, text]: [string | undefined, string] = [undefined, '']
  return function textFor(roles) {
    const list = roles.join(',')
    if (known !== list) [known, text] = [list, textOf(statement(secondFactorDemandSql(roles)))]
    return text
  }
}

/** Users without direct rights, and without a role of the former or the new list, stay as they are. */
const affectedSql = textOf(sql`select ${u.username} from ${users} ${u}, ${principalChangeCounter} ${c}
  where ${c.secondFactorRoles} is distinct from $1::text::text[]
    and (cardinality(${u.rights}) > 0 or ${u.roles} && (coalesce(${c.secondFactorRoles}, '{}') || $1::text::text[]))`)

/**
 * Announces another SECOND_FACTOR_ROLES than that of the start before: the record of each user whom it may concern gets
 * a new version, so that no server goes on with a record of the former demand. Repeatable after an
 * interruption. @throws Unavailable
 */
export async function announceSecondFactorRoles(database: Database, roles: readonly Role[]): Promise<void> {
  const list = `{${roles.join(',')}}`
  const affected = await database.query<{ username: string }>(affectedSql, [list])
  for (const { username } of affected) {
    await changePrincipal(database, username, async () => ({ result: undefined, change: {} }))
  }
  await database.write(storeSql, [list])
}

const storeSql = textOf(
  build
    .update(principalChangeCounter)
    .set({ secondFactorRoles: sql`$1::text::text[]` })
    .where(sql`${principalChangeCounter.secondFactorRoles} is distinct from $1::text::text[]`)
    .returning({ stored: principalChangeCounter.id }),
)
