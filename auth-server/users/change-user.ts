import { and, eq, isNull } from 'drizzle-orm'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import { catalogueIn } from '../principals/catalogue.ts'
import { type Changed, changePrincipal, type PrincipalChange } from '../principals/principal-change.ts'
import { apiKeys, digestSecrets, passwordResets, users } from '../store/schema.ts'
import { secondFactorFailures } from '../store/second-factor-tables.ts'
import {
  type Grantor,
  requireMayAccess,
  requireMayGrant,
  rightsAdded,
  rightsMoved,
  rightsOfGrants,
} from './granting-rights.ts'
import { distinct, emailProblems, grantProblems, type Profile, refuseProblems, type User, userChanges } from './user.ts'
import { isEnabledAdmin, toUser, userRow, verifyAdminLeft } from './user-rows.ts'

/** New values for a user, already checked. Members that are left out stay as they are. */
export interface UserPatch {
  readonly roles?: readonly string[] | undefined
  readonly rights?: readonly string[] | undefined
  readonly enabled?: boolean | undefined
  /** Null takes it away. */
  readonly displayName?: string | null | undefined
  /** Null takes it away. An address that changes is not verified any more, unless `emailVerified` says so. */
  readonly email?: string | null | undefined
  readonly emailVerified?: boolean | undefined
  readonly requires?: UserCheck | undefined
}

/** Judges the user who is there now, in the transaction. @throws ProblemError to undo the change */
export type UserCheck = (now: User) => void

const revokeEverything = { raiseGeneration: { keptLogin: null } } as const satisfies PrincipalChange

/**
 * Replaces the members of `patch`. Disabling a user revokes all its logins, sessions and tokens.
 * @throws ProblemError `not-found`, `last-admin`, `invalid-value` for `emailVerified` without an address,
 *   `missing-right` when the user gets or loses a right that `grantor` lacks
 */
export function changeUser(
  { database, clock }: { database: Database; clock: Clock },
  username: string,
  { patch, grantor }: { patch: UserPatch; grantor?: Grantor | undefined },
): Promise<Changed<User>> {
  return changePrincipal(database, username, async (transaction, principal) => {
    const before = await userRow(transaction, principal.userId)
    patch.requires?.(toUser(before))
    const after = {
      ...before,
      roles: patch.roles ? distinct(patch.roles) : before.roles,
      rights: patch.rights ? distinct(patch.rights) : before.rights,
      enabled: patch.enabled ?? before.enabled,
      ...profileAfter(before, patch),
      updatedAt: new Date(clock.now()),
    }
    refuseProblems(emailProblems(after))
    const differences = userChanges(toUser(before), toUser(after))
    if (differences.length === 0) return { result: toUser(before) }
    const { updatedAt, displayName, email, emailVerified } = after
    // Of roles and rights only those that were sent: others may have been taken away since, and must not come back.
    const values = {
      roles: patch.roles && after.roles,
      rights: patch.rights && after.rights,
      enabled: patch.enabled,
      displayName,
      email,
      emailVerified,
      updatedAt,
    }
    const [stored] = await transaction.update(users).set(values).where(eq(users.id, before.id)).returning()
    const added = rightsAdded(await catalogueIn(transaction), before, after)
    // A link that was made for fewer rights must not lead to these.
    if (added.length > 0) await transaction.delete(passwordResets).where(eq(passwordResets.userId, before.id))
    const change: PrincipalChange = {
      ...(before.enabled && !after.enabled && revokeEverything),
      verify: async (source) => {
        // A right or a role may have been deleted since the request was checked.
        const catalogue = await catalogueIn(source)
        refuseProblems(grantProblems(catalogue, username, patch))
        await requireMayGrant(source, grantor, { rights: rightsMoved(catalogue, before, after), before, catalogue })
        if (isEnabledAdmin(before) && !isEnabledAdmin(after)) await verifyAdminLeft(source)
      },
    }
    return { result: toUser(stored ?? after), change, differences }
  })
}

/**
 * Deletes a user and its credentials. The principal stays, disabled. Whoever could delete a user of more rights could
 * take the name, and wait until they are given to it again.
 * @throws ProblemError `not-found`, `last-admin`, `missing-right` when the user has a right that `grantor` lacks
 */
export function deleteUser(
  database: Database,
  username: string,
  { grantor, requires }: { grantor?: Grantor | undefined; requires?: UserCheck | undefined },
): Promise<Changed<void>> {
  return changePrincipal(database, username, async (transaction, principal) => {
    const before = await userRow(transaction, principal.userId)
    requires?.(toUser(before))
    await transaction.delete(users).where(eq(users.id, before.id))
    const verify = async (source: Drizzle) => {
      if (isEnabledAdmin(before)) await verifyAdminLeft(source)
      const catalogue = await catalogueIn(source)
      await requireMayGrant(source, grantor, { rights: rightsOfGrants(catalogue, before), before, catalogue })
    }
    return {
      result: undefined,
      change: { ...revokeEverything, verify },
      differences: userChanges(toUser(before), {}),
    }
  })
}

/**
 * Ends the lock of an account, and the wait after wrong one-time codes; its logins go on. @throws ProblemError
 * `not-found`, `missing-right`
 */
export const unlockUser = (database: Database, username: string, grantor: Grantor): Promise<Changed<void>> =>
  changePrincipal(database, username, async (transaction, principal) => {
    const before = await userRow(transaction, principal.userId)
    await transaction.delete(secondFactorFailures).where(eq(secondFactorFailures.userId, before.id))
    // Who unlocks at will guesses without a limit.
    const verify = (source: Drizzle) => requireMayAccess(source, grantor, before)
    return { result: undefined, change: { endsLock: true, verify } }
  })

/**
 * Revokes every token, key-signed token and session of a user; with `everything` its API keys and Digest secret too, so
 * that only the password is left. @throws ProblemError `not-found`
 */
export function revokeAllLogins(
  { database, clock }: { database: Database; clock: Clock },
  username: string,
  { everything }: { readonly everything: boolean },
): Promise<Changed<void>> {
  return changePrincipal(database, username, async (transaction, principal) => {
    const { id } = await userRow(transaction, principal.userId)
    if (everything) {
      const notRevoked = and(eq(apiKeys.userId, id), isNull(apiKeys.revokedAt))
      await transaction
        .update(apiKeys)
        .set({ revokedAt: new Date(clock.now()) })
        .where(notRevoked)
      await transaction.delete(digestSecrets).where(eq(digestSecrets.userId, id))
    }
    return { result: undefined, change: revokeEverything }
  })
}

function profileAfter(before: Profile, { displayName, email = before.email, emailVerified }: UserPatch): Profile {
  return {
    displayName: displayName === undefined ? before.displayName : displayName,
    email,
    emailVerified: emailVerified ?? (email === before.email && before.emailVerified),
  }
}
