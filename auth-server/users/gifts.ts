/**
 * A caller can grant only rights that the caller has (docs/contract.md#granting-rights). A caller grants rights by:
 * roles and rights for a user, access to another user's account (a new password, a Digest secret, enabling it again),
 * and an API key for another user. The rights of the giver are read in the transaction of the change. A narrowed
 * credential has only its own rights.
 *
 * Call these checks in `PrincipalChange.verify`: every other change has then committed or waits.
 */
import { eq } from 'drizzle-orm'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { type Caller, missingRights, narrowed } from '../../shared/protocol/authentication/authenticate.ts'
import { actsForItsUser } from '../../shared/protocol/authentication/own-account.ts'
import { users } from '../store/schema.ts'
import { adminRole, allRights, effectiveRights } from './rights.ts'
import { distinct } from './user.ts'
import type { UserRow } from './user-rows.ts'

/** The caller who grants the rights. */
export type Giver = Pick<Caller, 'userId' | 'scheme' | 'credential'>

type Grants = Pick<UserRow, 'roles' | 'rights'>

type AskedGrants = { readonly [Member in keyof Grants]?: Grants[Member] | undefined }

/** The rights of these roles and direct rights together. */
export const rightsGiven = ({ roles = [], rights = [] }: AskedGrants): string[] => effectiveRights(roles, rights)

/**
 * The rights that a change of a user adds: the rights of each new role, each new direct right, and all rights of a
 * disabled user who is enabled again. A role or right that the user had before adds nothing.
 */
export function rightsAdded(before: Grants & { enabled: boolean }, after: Grants & { enabled: boolean }): string[] {
  if (!before.enabled && after.enabled) return rightsGiven(after)
  return rightsGiven({
    roles: after.roles.filter((role) => !before.roles.includes(role)),
    rights: after.rights.filter((right) => !before.rights.includes(right)),
  })
}

/** The rights that are granted. */
export interface Gift {
  readonly rights: readonly string[]
  /**
   * The user's row before this transaction changed it. For users who change themselves, it gives the rights they had.
   */
  readonly before?: UserRow
}

/**
 * Refuses a giver who lacks one of these rights. Undefined stands for the server itself. @throws ProblemError
 * `missing-right`
 */
export async function requireToGive(
  transaction: Drizzle,
  giver: Giver | undefined,
  { rights, before }: Gift,
): Promise<void> {
  if (giver === undefined || rights.length === 0) return
  const now = before?.id === giver.userId ? rightsThrough(giver, before) : await rightsNow(transaction, giver)
  requireAll(giver, now, rights)
}

/**
 * Refuses access to the account of a user who has a right that the giver lacks. Own accounts pass. @throws ProblemError
 * `missing-right`
 */
export async function requireToHandOver(
  transaction: Drizzle,
  giver: Giver | undefined,
  target: Grants & { id: string },
): Promise<void> {
  if (giver === undefined || isOwn(giver, target.id)) return
  await requireToGive(transaction, giver, { rights: rightsGiven(target) })
}

/**
 * The rights of a new API key (null: all rights of its owner). A user's own key, and a key that the role `admin` makes,
 * get the rights in `asked`. A key for another user gets no right that its maker lacks; without `asked` it gets the
 * rights that both have. @throws ProblemError `missing-right`
 */
export async function rightsOfNewKey(
  transaction: Drizzle,
  giver: Giver | undefined,
  { asked, owner }: { asked: readonly string[] | undefined; owner: Grants & { id: string } },
): Promise<string[] | null> {
  if (giver === undefined || isOwn(giver, owner.id)) return asked === undefined ? null : distinct(asked)
  const now = await rightsNow(transaction, giver)
  if (asked === undefined) return now.isAdmin ? null : rightsGiven(owner).filter((right) => now.rights.has(right))
  requireAll(giver, now, asked)
  return distinct(asked)
}

/** Refuses when the giver has lost a right of the new key in the meantime. @throws ProblemError `missing-right` */
export async function requireToMakeKey(
  transaction: Drizzle,
  giver: Giver | undefined,
  { rights, owner }: { rights: readonly string[] | null; owner: Grants & { id: string } },
): Promise<void> {
  const now = await rightsOfNewKey(transaction, giver, { asked: rights ?? undefined, owner })
  if (rights === null && now !== null) await requireToGive(transaction, giver, { rights: allRights })
}

const isOwn = (giver: Giver, id: string): boolean => giver.userId === id && actsForItsUser(giver)

/** The grants of a giver who is disabled or deleted. */
const nothing: Grants = { roles: [], rights: [] }

interface RightsNow {
  readonly rights: ReadonlySet<string>
  /** True for the role `admin` with a credential that is not narrowed. */
  readonly isAdmin: boolean
}

async function rightsNow(transaction: Drizzle, giver: Giver): Promise<RightsNow> {
  const [row] = await transaction.select().from(users).where(eq(users.id, giver.userId))
  return rightsThrough(giver, row)
}

/** The rights of this row, narrowed by the credential. */
function rightsThrough(giver: Giver, row: UserRow | undefined): RightsNow {
  const { roles, rights } = row?.enabled ? row : nothing
  return {
    rights: narrowed(new Set(rightsGiven({ roles, rights })), giver.credential.rights),
    isAdmin: roles.includes(adminRole) && actsForItsUser(giver),
  }
}

function requireAll(giver: Giver, { rights }: RightsNow, given: readonly string[]): void {
  const missing = given.filter((right) => !rights.has(right))
  if (missing.length === 0) return
  throw missingRights(giver, missing, `This gives the right ${missing.join(' and ')}, which the caller lacks.`)
}
