import { eq } from 'drizzle-orm'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { ProblemError, Unavailable } from '../../shared/platform/problems/errors.ts'
import { isAnonymous } from '../../shared/protocol/principal/record.ts'
import { passwordProblems } from '../passwords/password-policy.ts'
import { type Changed, changePrincipal, isLoginCurrent, type LoginGeneration } from '../principals/principal-change.ts'
import { whenPublished } from '../principals/principal-publisher.ts'
import { users } from '../store/schema.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import { type Grantor, requireMayAccess } from '../users/granting-rights.ts'
import { refuseProblems } from '../users/user.ts'
import { userRow } from '../users/user-rows.ts'
import { verifyPassword } from './verify-password.ts'

/** How often a change starts again because another change of the password came between. */
const maxAttempts = 3

/** A user's own change of password. */
export interface OwnPasswordChange {
  readonly username: string
  readonly oldPassword: string
  readonly newPassword: string
  readonly clientAddress: string
  /** The login or session of the request, with its credential generation. It alone is not revoked. Null: all are. */
  readonly login: LoginGeneration | null
}

/**
 * Creates the changes of passwords over these systems. Each change is published when its promise resolves. Both throw
 * Unavailable.
 */
export function createPasswordChanges(systems: AuthSystems) {
  /**
   * Refuses a password that the policy does not allow, as `change` and `reset` do. @throws ProblemError `invalid-value`
   */
  const refuseImpossible = ({ username, newPassword: password }: { username: string; newPassword: string }) =>
    refuseProblems(passwordProblems({ username, password }, '/newPassword'))
  return {
    refuseImpossible,
    /**
     * A change by the user, who proves the old password. Revokes the user's tokens and sessions, but not those of this
     * login. @throws ProblemError `invalid-value`, `wrong-password`, `too-many-attempts`
     */
    async change(change: OwnPasswordChange): Promise<void> {
      refuseImpossible(change)
      await whenPublished(systems.publisher, changeOwn(systems, change))
    },
    /**
     * A change by an administrator, who must have every right of the user. Revokes the logins, sessions and tokens of
     * the user. Without `grantor` the server itself makes the change.
     * @throws ProblemError `invalid-value`, `reserved-user`, `not-found`, `missing-right`
     */
    async reset(change: { username: string; newPassword: string; grantor?: Grantor }): Promise<void> {
      const { username, newPassword, grantor } = change
      refuseImpossible(change)
      if (isAnonymous(username)) throw new ProblemError('reserved-user', 'The reserved user has no password.')
      const passwordHash = await systems.hashing.hash(newPassword)
      await whenPublished(systems.publisher, store(systems, { username, passwordHash, grantor }))
    },
  }
}

async function changeOwn(systems: AuthSystems, change: OwnPasswordChange): Promise<Changed<unknown>> {
  const { username, oldPassword: password, clientAddress, login } = change
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const holder = await verifyPassword(systems, { username, password, clientAddress })
    if (!holder) throw new ProblemError('wrong-password', 'The old password is not right.')
    const passwordHash = await systems.hashing.hash(change.newPassword)
    const changed = await store(systems, { username, passwordHash, replaces: holder.passwordHash, login })
    if (changed.result === 'stored') return changed
  }
  throw new Unavailable('database')
}

interface StoredPassword {
  readonly username: string
  readonly passwordHash: string
  /** The hash that must still be stored; undefined: any. */
  readonly replaces?: string
  readonly login?: LoginGeneration | null
  /** The user who must have every right of this user; undefined: the server itself. */
  readonly grantor?: Grantor | undefined
}

function store({ database, clock }: AuthSystems, stored: StoredPassword): Promise<Changed<'stored' | 'outdated'>> {
  const { username, passwordHash, replaces, login, grantor } = stored
  return changePrincipal(database, username, async (transaction, principal) => {
    const before = await userRow(transaction, principal.userId)
    if (replaces !== undefined && before.passwordHash !== replaces) return { result: 'outdated', entries: [] }
    const updatedAt = new Date(clock.now())
    await transaction.update(users).set({ passwordHash, updatedAt }).where(eq(users.id, before.id))
    const keptLogin = login && isLoginCurrent(principal, login) ? login : null
    const verify = (source: Drizzle) => requireMayAccess(source, grantor, before)
    return { result: 'stored', change: { raiseGeneration: { keptLogin }, endsLock: true, verify } }
  })
}
