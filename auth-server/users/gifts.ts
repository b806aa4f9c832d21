/**
 * A caller gives no right that the caller lacks. These are gifts: rights and roles for a user, the account of another user (a new
 * password, a Digest secret, enabling it again), and an API key for another user. The giver's rights are read from the database in
 * the transaction of the change. A credential of narrowed rights counts by its own.
 *
 * Ask these rules in `PrincipalChange.verify`: then every other change has committed or is waiting.
 */
import { eq } from 'drizzle-orm'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { type Caller, missingRights, narrowed } from '../../shared/protocol/authentication/authenticate.ts'
import { actsForItsUser } from '../../shared/protocol/authentication/own-account.ts'
import { users } from '../store/schema.ts'
import { adminRole, allRights, effectiveRights } from './rights.ts'
import { distinct } from './user.ts'
import type { UserRow } from './user-rows.ts'

/** Who gives. */
export type Giver = Pick<Caller, 'userId' | 'scheme' | 'credential'>

type Grants = Pick<UserRow, 'roles' | 'rights'>

type AskedGrants = { readonly [Member in keyof Grants]?: Grants[Member] | undefined }

/** The rights that these roles and direct rights give. */
export const rightsGiven = ({ roles = [], rights = [] }: AskedGrants): string[] => effectiveRights(roles, rights)

/**
 * The rights that a change of a user gives: those of each new role, each new direct right, and all rights of a user who was disabled
 * and is enabled again. A role or right that the user had before gives nothing.
 */
export function rightsAdded(before: Grants & { enabled: boolean }, after: Grants & { enabled: boolean }): string[] {
  if (!before.enabled && after.enabled) return rightsGiven(after)
  return rightsGiven({
    roles: after.roles.filter((role) => !before.roles.includes(role)),
    rights: after.rights.filter((right) => !before.rights.includes(right)),
  })
}

/** What is given. */
export interface Gift {
  readonly rights: readonly string[]
  /** The row that this transaction has already changed: what users give themselves is judged by what they had. */
  readonly before?: UserRow
}

/** Refuses a giver who lacks one of these rights. Undefined: the server itself gives. @throws ProblemError `missing-right` */
export async function requireToGive(
  transaction: Drizzle,
  giver: Giver | undefined,
  { rights, before }: Gift,
): Promise<void> {
  if (giver === undefined || rights.length === 0) return
  const now = before?.id === giver.userId ? rightsThrough(giver, before) : await rightsNow(transaction, giver)
  requireAll(giver, now, rights)
}

/** Refuses to hand over the account of a user who may do more than the giver. One's own account is no gift. @throws ProblemError `missing-right` */
export async function requireToHandOver(
  transaction: Drizzle,
  giver: Giver | undefined,
  target: Grants & { id: string },
): Promise<void> {
  if (giver === undefined || isOwn(giver, target.id)) return
  await requireToGive(transaction, giver, { rights: rightsGiven(target) })
}

/**
 * Which of its owner's rights a new API key carries (null: all). A user's own key carries the rights that are asked for, and so does
 * each key that the role `admin` makes. A key for another user carries no more than its maker has; without `asked`, it carries the
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

/** Refuses when the giver has meanwhile lost a right that the new key carries. @throws ProblemError `missing-right` */
export async function requireToMakeKey(
  transaction: Drizzle,
  giver: Giver | undefined,
  { rights, owner }: { rights: readonly string[] | null; owner: Grants & { id: string } },
): Promise<void> {
  const now = await rightsOfNewKey(transaction, giver, { asked: rights ?? undefined, owner })
  if (rights === null && now !== null) await requireToGive(transaction, giver, { rights: allRights })
}

const isOwn = (giver: Giver, id: string): boolean => giver.userId === id && actsForItsUser(giver)

/** What a giver has who is disabled or gone. */
const nothing: Grants = { roles: [], rights: [] }

interface RightsNow {
  readonly rights: ReadonlySet<string>
  /** Of the role `admin`, with a credential that lets everything through. */
  readonly isAdmin: boolean
}

async function rightsNow(transaction: Drizzle, giver: Giver): Promise<RightsNow> {
  const [row] = await transaction.select().from(users).where(eq(users.id, giver.userId))
  return rightsThrough(giver, row)
}

/** What the credential lets through of what this row gives. */
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
