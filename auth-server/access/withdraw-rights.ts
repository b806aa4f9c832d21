import { inArray, type SQLWrapper, sql } from 'drizzle-orm'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { accessRights, roles } from '../store/access-tables.ts'
import { apiKeys, users } from '../store/schema.ts'
import { type CatalogueBefore, type CatalogueOutcome, lockRecords } from './change-catalogue.ts'

/**
 * Withdraws these rights: from the catalogue, from roles, users and API keys. The records of users who needed a second
 * factor because of them, and of owners of API keys that name them, change too.
 */
export async function withdrawRights(
  transaction: Drizzle,
  { stored: { demand } }: CatalogueBefore,
  names: readonly string[],
): Promise<Pick<CatalogueOutcome<unknown>, 'renewed' | 'verify'>> {
  if (names.length === 0) return {}
  const demanding = names.filter((name) => demand.rights.includes(name))
  const holders = await transaction
    .select({ name: users.usernameFolded })
    .from(users)
    .where(sql`${users.rights} && ${arrayOf(demanding)}`)
  const owners = await transaction
    .selectDistinct({ name: apiKeys.usernameFolded })
    .from(apiKeys)
    .where(sql`${apiKeys.rights} && ${arrayOf(names)}`)
  const renewed = [...new Set([...holders, ...owners].map(({ name }) => name))]
  await lockRecords(transaction, renewed)
  await transaction.delete(accessRights).where(inArray(accessRights.name, [...names]))
  await transaction
    .update(roles)
    .set({ rights: without(roles.rights, names) })
    .where(sql`${roles.rights} && ${arrayOf(names)}`)
  await takeFromHolders(transaction, names)
  // A user may have got one of them since.
  return { renewed, verify: (source) => takeFromHolders(source, names) }
}

async function takeFromHolders(transaction: Drizzle, names: readonly string[]): Promise<void> {
  for (const table of [users, apiKeys]) {
    await transaction
      .update(table)
      .set({ rights: without(table.rights, names) })
      .where(sql`${table.rights} && ${arrayOf(names)}`)
  }
}

const arrayOf = (names: readonly string[]) =>
  sql`array(select json_array_elements_text(${JSON.stringify(names)}::json))`

const without = (column: SQLWrapper, names: readonly string[]) =>
  sql`array(select kept from unnest(${column}) as kept where kept <> all(${arrayOf(names)}))`
