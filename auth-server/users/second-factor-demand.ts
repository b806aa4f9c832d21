/**
 * Who needs a second factor (docs/contract/logins.md#second-factor): users with a role of SECOND_FACTOR_ROLES, users
 * who have directly what only these roles give, and users who have set one up.
 */
import type { Database } from '../../shared/platform/database/database.ts'
import { changePrincipal } from './principal-change.ts'
import { type Role, rightsOfThese } from './rights.ts'

/** SQL condition on a row `u` of auth.users: it needs a second factor. Roles and rights come from a fixed table. */
export function secondFactorDemandSql(roles: readonly Role[]): string {
  const anyOf = (column: string, names: readonly string[]) =>
    names.length === 0 ? [] : [`${column} && array[${names.map((name) => `'${name}'`).join(', ')}]::text[]`]
  return `(${[
    ...anyOf('u.roles', roles),
    ...anyOf('u.rights', rightsOfThese(roles)),
    'exists (select 1 from auth.second_factors s where s.user_id = u.id)',
  ].join(' or ')})`
}

/** Users without direct rights, and without a role of the former or the new list, stay as they are. */
const affectedSql = `select u.username from auth.users u, auth.principal_change_counter c
  where c.second_factor_roles is distinct from $1::text::text[]
    and (cardinality(u.rights) > 0 or u.roles && (coalesce(c.second_factor_roles, '{}') || $1::text::text[]))`

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

const storeSql = `update auth.principal_change_counter set second_factor_roles = $1::text::text[]
  where second_factor_roles is distinct from $1::text::text[] returning 1 as stored`
