/**
 * A caller can give and take only rights that the caller has (docs/contract/accounts.md#granting-rights). A caller
 * gives rights by: roles and rights for a user, access to another user's account (a new password, a Digest secret,
 * enabling it again), and an API key for another user. Whoever could take a right without having it would bring an
 * account down to their own rights, make a key of it, and wait until the rights come back. The rights of the grantor
 * are read in the transaction of the change. A narrowed credential has only its own rights.
 *
 * Call these checks in `PrincipalChange.verify`: every other change has then committed or waits.
 */
import { eq } from 'drizzle-orm'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { type Caller, missingRights, narrowed } from '../../shared/protocol/authentication/authenticate.ts'
import { actsForItsUser } from '../../shared/protocol/authentication/own-account.ts'
import { type Catalogue, effectiveRights, newGrants } from '../../shared/protocol/principal/catalogue.ts'
import { catalogueIn } from '../principals/catalogue.ts'
import { adminRole } from '../principals/rights.ts'
import { users } from '../store/schema.ts'
import { type AskedGrants, distinct } from './user.ts'
import type { UserRow } from './user-rows.ts'

/** The caller who gives or takes the rights. */
export type Grantor = Pick<Caller, 'userId' | 'scheme' | 'credential'>

type Grants = Pick<UserRow, 'roles' | 'rights'>

/** The rights of these roles and direct rights together. */
export const rightsOfGrants = (catalogue: Catalogue, { roles = [], rights = [] }: AskedGrants): string[] =>
  effectiveRights(catalogue, newGrants(roles, rights))

/**
 * The rights that a change of a user adds: the rights of each new role, each new direct right, and all rights of a
 * disabled user who is enabled again. A role or right that the user had before adds nothing.
 */
export function rightsAdded(
  catalogue: Catalogue,
  before: Grants & { enabled: boolean },
  after: Grants & { enabled: boolean },
): string[] {
  return !before.enabled && after.enabled ? rightsOfGrants(catalogue, after) : rightsBeyond(catalogue, before, after)
}

/** The same with the rights of each role and each direct right that the user loses. */
export const rightsMoved = (
  catalogue: Catalogue,
  before: Grants & { enabled: boolean },
  after: Grants & { enabled: boolean },
): string[] => distinct([...rightsAdded(catalogue, before, after), ...rightsBeyond(catalogue, after, before)])

/** The rights of the roles and direct rights that the second has and the first has not. */
const rightsBeyond = (catalogue: Catalogue, first: Grants, second: Grants): string[] =>
  rightsOfGrants(catalogue, {
    roles: second.roles.filter((role) => !first.roles.includes(role)),
    rights: second.rights.filter((right) => !first.rights.includes(right)),
  })

/** The rights that are given or taken. */
export interface Grant {
  readonly rights: readonly string[]
  /**
   * The user's row before this transaction changed it. For users who change themselves, it gives the rights they had.
   */
  readonly before?: UserRow
  /** The catalogue by which the grantor has rights: the present one, or the one before this transaction changed it. */
  readonly catalogue?: Catalogue
}

/**
 * Refuses a grantor who lacks one of these rights. Undefined stands for the server itself. @throws ProblemError
 * `missing-right`
 */
export async function requireMayGrant(
  transaction: Drizzle,
  grantor: Grantor | undefined,
  { rights, before, catalogue: given }: Grant,
): Promise<void> {
  if (grantor === undefined || rights.length === 0) return
  const catalogue = given ?? (await catalogueIn(transaction))
  const isSelf = before?.id === grantor.userId
  const now = rightsThrough(catalogue, grantor, isSelf ? before : await rowOf(transaction, grantor))
  requireAll(grantor, now, rights)
}

/** What a transaction takes from everybody who has it: a role or rights, and the rights that they lose by it. */
export interface Taking {
  readonly names: readonly string[]
  readonly rights: readonly string[]
  /** The one before the transaction. */
  readonly catalogue: Catalogue
}

/**
 * The check of a change that takes something from everybody, from the grantor too. Call it before the change: it reads
 * what the grantor has. Run the result in `verify`. It throws ProblemError `missing-right`.
 */
export async function mayTake(
  transaction: Drizzle,
  grantor: Grantor | undefined,
  { names, rights, catalogue }: Taking,
): Promise<(source: Drizzle) => Promise<void>> {
  const had = grantor && (await rowOf(transaction, grantor))
  const restored = (now: readonly string[], before: readonly string[] = []) =>
    distinct([...now, ...before.filter((name) => names.includes(name))])
  return async (source) => {
    const now = grantor && (await rowOf(source, grantor))
    const before = now && { ...now, roles: restored(now.roles, had?.roles), rights: restored(now.rights, had?.rights) }
    await requireMayGrant(source, grantor, { rights, catalogue, ...(before && { before }) })
  }
}

/**
 * Refuses access to the account of a user who has a right that the grantor lacks. Own accounts pass.
 * @throws ProblemError `missing-right`
 */
export async function requireMayAccess(
  transaction: Drizzle,
  grantor: Grantor | undefined,
  target: Grants & { id: string },
): Promise<void> {
  if (grantor === undefined || isOwn(grantor, target.id)) return
  const catalogue = await catalogueIn(transaction)
  await requireMayGrant(transaction, grantor, { rights: rightsOfGrants(catalogue, target), catalogue })
}

/**
 * The rights of a new API key (null: all rights of its owner). A user's own key, and a key that the role `admin` makes,
 * get the rights in `asked`. A key for another user gets no right that its maker lacks; without `asked` it gets the
 * rights that both have. @throws ProblemError `missing-right`
 */
export async function rightsOfNewKey(
  transaction: Drizzle,
  grantor: Grantor | undefined,
  { asked, owner }: { asked: readonly string[] | undefined; owner: Grants & { id: string } },
): Promise<string[] | null> {
  if (grantor === undefined || isOwn(grantor, owner.id)) return asked === undefined ? null : distinct(asked)
  const catalogue = await catalogueIn(transaction)
  const now = rightsThrough(catalogue, grantor, await rowOf(transaction, grantor))
  if (asked === undefined) {
    return now.isAdmin ? null : rightsOfGrants(catalogue, owner).filter((right) => now.rights.has(right))
  }
  requireAll(grantor, now, asked)
  return distinct(asked)
}

/** Refuses when the grantor has lost a right of the new key in the meantime. @throws ProblemError `missing-right` */
export async function requireMayMakeKey(
  transaction: Drizzle,
  grantor: Grantor | undefined,
  { rights, owner }: { rights: readonly string[] | null; owner: Grants & { id: string } },
): Promise<void> {
  const now = await rightsOfNewKey(transaction, grantor, { asked: rights ?? undefined, owner })
  if (rights !== null || now === null) return
  const catalogue = await catalogueIn(transaction)
  await requireMayGrant(transaction, grantor, { rights: catalogue.rights.map(({ name }) => name), catalogue })
}

const isOwn = (grantor: Grantor, id: string): boolean => grantor.userId === id && actsForItsUser(grantor)

/** The grants of a grantor who is disabled or deleted. */
const nothing: Grants = { roles: [], rights: [] }

interface RightsNow {
  readonly rights: ReadonlySet<string>
  /** True for the role `admin` with a credential that is not narrowed. */
  readonly isAdmin: boolean
}

async function rowOf(transaction: Drizzle, grantor: Grantor): Promise<UserRow | undefined> {
  const [row] = await transaction.select().from(users).where(eq(users.id, grantor.userId))
  return row
}

/** The rights of this row, narrowed by the credential. */
function rightsThrough(catalogue: Catalogue, grantor: Grantor, row: UserRow | undefined): RightsNow {
  const { roles, rights } = row?.enabled ? row : nothing
  return {
    rights: narrowed(new Set(rightsOfGrants(catalogue, { roles, rights })), grantor.credential.rights),
    isAdmin: roles.includes(adminRole) && actsForItsUser(grantor),
  }
}

function requireAll(grantor: Grantor, { rights }: RightsNow, given: readonly string[]): void {
  const missing = given.filter((right) => !rights.has(right))
  if (missing.length === 0) return
  throw missingRights(
    grantor,
    missing,
    `This gives or takes the right ${missing.join(' and ')}, which the caller lacks.`,
  )
}
