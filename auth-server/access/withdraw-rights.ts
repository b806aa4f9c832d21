import { inArray, type SQLWrapper, sql } from 'drizzle-orm'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { accessRights, roles } from '../store/access-tables.ts'
import { clients, consents } from '../store/client-tables.ts'
import { apiKeys, users } from '../store/schema.ts'
import { type Grantor, mayTake } from '../users/granting-rights.ts'
import { type CatalogueBefore, type CatalogueOutcome, lockRecords, namesOfUsers } from './change-catalogue.ts'
import { arrayOf } from './demand.ts'

/**
 * Withdraws these rights: from the catalogue, from roles, users, API keys, clients and consents. The records of users
 * who needed a second factor because of them, and of owners of API keys that name them, change too. `verify` throws
 * ProblemError `missing-right` when `grantor` lacks one of them.
 */
export async function withdrawRights(
  transaction: Drizzle,
  { catalogue, stored: { demand } }: CatalogueBefore,
  { names, grantor }: { readonly names: readonly string[]; readonly grantor: Grantor | undefined },
): Promise<Pick<CatalogueOutcome<unknown>, 'renewed' | 'verify'>> {
  if (names.length === 0) return {}
  const requireMayTake = await mayTake(transaction, grantor, { names, rights: names, catalogue })
  const demanding = names.filter((name) => demand.rights.includes(name))
  const holders = await namesOfUsers(transaction, sql`${users.rights} && ${arrayOf(demanding)}`)
  const owners = await transaction
    .selectDistinct({ name: apiKeys.usernameFolded })
    .from(apiKeys)
    .where(sql`${apiKeys.rights} && ${arrayOf(names)}`)
  const renewed = [...new Set([...holders, ...owners.map(({ name }) => name)])]
  await lockRecords(transaction, renewed)
  await transaction.delete(accessRights).where(inArray(accessRights.name, [...names]))
  await transaction
    .update(roles)
    .set({ rights: without(roles.rights, names) })
    .where(sql`${roles.rights} && ${arrayOf(names)}`)
  await takeFromHolders(transaction, names)
  const verify = async (source: Drizzle) => {
    await requireMayTake(source)
    // A user may have got one of them since.
    await takeFromHolders(source, names)
  }
  return { renewed, verify }
}

async function takeFromHolders(transaction: Drizzle, names: readonly string[]): Promise<void> {
  for (const table of [users, apiKeys, clients, consents]) {
    await transaction
      .update(table)
      .set({ rights: without(table.rights, names) })
      .where(sql`${table.rights} && ${arrayOf(names)}`)
  }
}

const without = (column: SQLWrapper, names: readonly string[]) =>
  sql`array(select kept from unnest(${column}) as kept where kept <> all(${arrayOf(names)}))`
