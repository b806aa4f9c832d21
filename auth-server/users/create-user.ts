import { type Drizzle, violates } from '../../shared/platform/database/database.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { Systems } from '../../shared/platform/systems/systems.ts'
import { anonymousUsername, foldUsername } from '../../shared/protocol/principal/record.ts'
import { entriesUnderWay, insertEntries } from '../audit/change-entries.ts'
import { catalogueIn } from '../principals/catalogue.ts'
import { type Changed, numberChange } from '../principals/principal-change.ts'
import { principals, users } from '../store/schema.ts'
import { type Grantor, requireMayGrant, rightsOfGrants } from './granting-rights.ts'
import { distinct, grantProblems, refuseProblems, type User, userChanges } from './user.ts'
import { toUser } from './user-rows.ts'

/** A new user with checked values. */
export interface NewUser {
  readonly username: string
  /** Null for a principal that cannot log in. */
  readonly passwordHash: string | null
  readonly roles: readonly string[]
  readonly rights: readonly string[]
  readonly enabled: boolean
  readonly displayName?: string | null | undefined
  readonly email?: string | null | undefined
  readonly emailVerified?: boolean | undefined
  /** The default is false. */
  readonly madeByDemo?: boolean
  /** The action in the audit log. The default is `user.created`. */
  readonly action?: string
}

/**
 * Stores a new user and its principal. If a deleted user had this name, its principal is used again: generation and
 * version count on. @throws ProblemError `user-exists`, `missing-right` when the user gets a right that `grantor` lacks
 */
export async function insertUser(
  systems: Pick<Systems, 'database' | 'clock' | 'ids'>,
  { action = 'user.created', ...user }: NewUser,
  grantor?: Grantor,
): Promise<Changed<User>> {
  const now = new Date(systems.clock.now())
  const row = {
    ...user,
    displayName: user.displayName ?? null,
    email: user.email ?? null,
    emailVerified: user.emailVerified ?? false,
    madeByDemo: user.madeByDemo ?? false,
    id: systems.ids.uuid(),
    usernameFolded: foldUsername(user.username),
    roles: distinct(user.roles),
    rights: distinct(user.rights),
    createdAt: now,
    updatedAt: now,
  }
  const { usernameFolded, username, id: userId } = row
  const result = toUser(row)
  const entries = entriesUnderWay()([{ action, target: username, changes: userChanges({}, result) }])
  try {
    const taken = await systems.database.transaction(async (transaction) => {
      await transaction
        .insert(principals)
        .values({ usernameFolded, username, userId })
        .onConflictDoUpdate({ target: principals.usernameFolded, set: { username, userId } })
      await transaction.insert(users).values(row)
      await insertEntries(transaction, entries)
      const verify = async (source: Drizzle) => {
        const catalogue = await catalogueIn(source)
        refuseProblems(grantProblems(catalogue, username, row))
        await requireMayGrant(source, grantor, { rights: rightsOfGrants(catalogue, row), catalogue })
      }
      return numberChange(transaction, usernameFolded, { verify })
    })
    entries.stored()
    return { result, ...taken }
  } catch (error) {
    if (violates(error, 'users_username_folded')) throw new ProblemError('user-exists', 'There is a user of this name.')
    throw error
  }
}

/** Creates the reserved principal `anonymous` if it is missing. Every start calls this. */
export async function ensureAnonymous(systems: Pick<Systems, 'database' | 'clock' | 'ids'>): Promise<void> {
  const anonymous = { username: anonymousUsername, passwordHash: null, roles: [], rights: [], enabled: true }
  try {
    await insertUser(systems, anonymous)
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error
  }
}
