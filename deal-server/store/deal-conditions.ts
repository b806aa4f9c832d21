import { type AnyColumn, eq, isNull, type SQL, sql } from 'drizzle-orm'
import { timeOfId } from '../../shared/platform/ids.ts'
import { filterFields } from '../domain/deal-fields.ts'
import type { UserIdentity } from '../domain/own-deals.ts'
import type { DealFilter } from '../queries/ports.ts'
import { deals } from './schema.ts'

/** True for a deal that the user owns: `owns`, for sets of deals. The index by owner serves it. */
export const isOwnedBy = (
  { username, userId }: UserIdentity,
  deal: Pick<typeof deals, 'ownerId' | 'ownerUserId' | 'createdAt'>,
): SQL => {
  const madeAt = timeOfId(userId)
  const hadName = Number.isNaN(madeAt)
    ? sql`false`
    : sql`${deal.createdAt} >= ${new Date(madeAt).toISOString()}::text::timestamptz`
  // The planner cannot see that name and id go together. It expects half of the rows to meet a case: so it reads the
  // index in the order of the list, as it does for a name alone.
  return sql`(lower(${deal.ownerId} collate "C") = ${username.toLowerCase()} and
    case when ${deal.ownerUserId} is null then ${hadName} else ${deal.ownerUserId} = ${userId} end)`
}

/** The conditions of a filter in SQL, for lists, counts and sums alike. Deleted deals never meet them. */
export function conditionsOf(filter: DealFilter): SQL[] {
  const {
    ownerId,
    priceMin,
    priceMax,
    completionFrom,
    completionTo,
    q,
    ids,
    createdFrom,
    createdTo,
    updatedFrom,
    updatedTo,
    owner,
  } = filter
  const conditions = [
    isNull(deals.deletedAt),
    ids !== undefined && sql`${deals.id} = any(${`{${ids.join(',')}}`}::text::uuid[])`,
    ...filterFields.map((name) => filter[name] !== undefined && eq<AnyColumn>(deals[name], filter[name])),
    ownerId !== undefined && eq(sql`lower(${deals.ownerId} collate "C")`, ownerId.toLowerCase()),
    priceMin !== undefined && sql`${deals.price} >= ${String(priceMin)}::text::bigint`,
    priceMax !== undefined && sql`${deals.price} <= ${String(priceMax)}::text::bigint`,
    completionFrom !== undefined && sql`${deals.completionDate} >= ${completionFrom}::text::date`,
    completionTo !== undefined && sql`${deals.completionDate} <= ${completionTo}::text::date`,
    createdFrom !== undefined && sql`${deals.createdAt} >= ${createdFrom}::text::timestamptz`,
    createdTo !== undefined && sql`${deals.createdAt} < ${createdTo}::text::timestamptz`,
    updatedFrom !== undefined && sql`${deals.updatedAt} >= ${updatedFrom}::text::timestamptz`,
    updatedTo !== undefined && sql`${deals.updatedAt} < ${updatedTo}::text::timestamptz`,
    q !== undefined && contains(q),
    owner !== undefined && isOwnedBy(owner, deals),
  ]
  return conditions.filter((condition) => condition !== false)
}

/** The index `deals_by_text` serves this condition, where the migration could make it. */
function contains(part: string): SQL {
  const pattern = `%${part.replace(/[\\%_]/g, '\\$&')}%`
  return sql`(${deals.name} ilike ${pattern} or ${deals.description} ilike ${pattern})`
}
