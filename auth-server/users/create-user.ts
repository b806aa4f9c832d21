import type { Clock } from '../../shared/platform/clock.ts'
import { type Database, type Drizzle, violates } from '../../shared/platform/database/database.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { anonymousUsername, foldUsername } from '../../shared/protocol/principal/record.ts'
import { principals, users } from '../store/schema.ts'
import { type Giver, requireToGive, rightsGiven } from './gifts.ts'
import { type Changed, numberChange } from './principal-change.ts'
import { distinct, type User } from './user.ts'
import { toUser } from './user-rows.ts'

/** A user to be stored; its values have been checked. */
export interface NewUser {
  readonly username: string
  /** Null for a principal that cannot log in. */
  readonly passwordHash: string | null
  readonly roles: readonly string[]
  readonly rights: readonly string[]
  readonly enabled: boolean
  /** False when left out. */
  readonly madeByDemo?: boolean
}

/** What creating needs. */
export interface CreateUserPorts {
  readonly database: Database
  readonly clock: Clock
  readonly ids: IdSource
}

/**
 * Stores a new user together with its principal, whose row may be left over from a deleted user of the same name: generation and
 * version then go on counting. @throws ProblemError `user-exists`, `missing-right` when the user gets more than `giver` has
 */
export async function insertUser(ports: CreateUserPorts, user: NewUser, giver?: Giver): Promise<Changed<User>> {
  const now = new Date(ports.clock.now())
  const row = {
    ...user,
    madeByDemo: user.madeByDemo ?? false,
    id: ports.ids.uuid(),
    usernameFolded: foldUsername(user.username),
    roles: distinct(user.roles),
    rights: distinct(user.rights),
    createdAt: now,
    updatedAt: now,
  }
  const { usernameFolded, username, id: userId } = row
  try {
    const principalVersion = await ports.database.transaction(async (transaction) => {
      await transaction
        .insert(principals)
        .values({ usernameFolded, username, userId })
        .onConflictDoUpdate({ target: principals.usernameFolded, set: { username, userId } })
      await transaction.insert(users).values(row)
      const verify = (source: Drizzle) => requireToGive(source, giver, { rights: rightsGiven(row) })
      return numberChange(transaction, usernameFolded, { verify })
    })
    return { result: toUser(row), principalVersion }
  } catch (error) {
    if (violates(error, 'users_username_folded')) throw new ProblemError('user-exists', 'there is a user of this name')
    throw error
  }
}

/** Makes the reserved principal `anonymous` when it is missing; to be called at every start. */
export async function ensureAnonymous(ports: CreateUserPorts): Promise<void> {
  const anonymous = { username: anonymousUsername, passwordHash: null, roles: [], rights: [], enabled: true }
  try {
    await insertUser(ports, anonymous)
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error
  }
}
