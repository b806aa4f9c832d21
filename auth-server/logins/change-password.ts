import { eq } from 'drizzle-orm'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { ProblemError, Unavailable } from '../../shared/platform/problems/errors.ts'
import { isAnonymous } from '../../shared/protocol/principal/record.ts'
import { passwordProblems } from '../passwords/password-policy.ts'
import { users } from '../store/schema.ts'
import { type Giver, requireToHandOver } from '../users/gifts.ts'
import { type Changed, changePrincipal, isCurrent, type LoginGeneration } from '../users/principal-change.ts'
import { type PrincipalPublisher, whenPublished } from '../users/principal-publisher.ts'
import { refuseProblems } from '../users/user.ts'
import { userRow } from '../users/user-rows.ts'
import { type VerifyPasswordPorts, verifyPassword } from './verify-password.ts'

/** What changing a password needs. */
export interface ChangePasswordPorts extends VerifyPasswordPorts {
  readonly clock: Clock
  readonly publisher: Pick<PrincipalPublisher, 'waitUntilPublished'>
}

/** How often a change starts over because the password was changed while the old one was being checked. */
const maxAttempts = 3

/** A user's own change of password. */
export interface OwnPasswordChange {
  readonly username: string
  readonly oldPassword: string
  readonly newPassword: string
  readonly clientAddress: string
  /** The login or session that asks, with the generation of its credential: it alone stays alive. Null when there is none. */
  readonly login: LoginGeneration | null
}

/** New passwords. Each change has been announced when its promise resolves. Both throw Unavailable. */
export interface PasswordChanges {
  /** Refuses what no password can be, as `change` and `reset` do. @throws ProblemError `invalid-value` */
  refuseImpossible(change: { readonly username: string; readonly newPassword: string }): void
  /** By the user, against the old one; ends the user's other logins. @throws ProblemError `invalid-value`, `wrong-password`, `too-many-attempts` */
  change(change: OwnPasswordChange): Promise<void>
  /**
   * By an administrator, who must have every right of the user; ends everything the user holds. Without `giver`: by the server itself.
   * @throws ProblemError `invalid-value`, `reserved-user`, `not-found`, `missing-right`
   */
  reset(change: { readonly username: string; readonly newPassword: string; readonly giver?: Giver }): Promise<void>
}

/** Changing passwords over these ports. */
export function createPasswordChanges(ports: ChangePasswordPorts): PasswordChanges {
  const refuseImpossible: PasswordChanges['refuseImpossible'] = ({ username, newPassword: password }) =>
    refuseProblems(passwordProblems({ username, password }, '/newPassword'))
  return {
    refuseImpossible,
    async change(change) {
      refuseImpossible(change)
      await whenPublished(ports.publisher, changeOwn(ports, change))
    },
    async reset({ username, newPassword, giver }) {
      refuseImpossible({ username, newPassword })
      if (isAnonymous(username)) throw new ProblemError('reserved-user', 'the reserved user has no password')
      const passwordHash = await ports.hashing.hash(newPassword)
      await whenPublished(ports.publisher, store(ports, { username, passwordHash, giver }))
    },
  }
}

async function changeOwn(ports: ChangePasswordPorts, change: OwnPasswordChange): Promise<Changed<unknown>> {
  const { username, oldPassword: password, clientAddress, login } = change
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const holder = await verifyPassword(ports, { username, password, clientAddress })
    if (!holder) throw new ProblemError('wrong-password', 'the old password is not right')
    const passwordHash = await ports.hashing.hash(change.newPassword)
    const changed = await store(ports, { username, passwordHash, replaces: holder.passwordHash, login })
    if (changed.result === 'stored') return changed
  }
  throw new Unavailable('database')
}

interface StoredPassword {
  readonly username: string
  readonly passwordHash: string
  /** Store it only in place of this hash. */
  readonly replaces?: string
  readonly login?: LoginGeneration | null
  /** Who must have every right of the user. */
  readonly giver?: Giver | undefined
}

function store(
  { database, clock }: ChangePasswordPorts,
  stored: StoredPassword,
): Promise<Changed<'stored' | 'outdated'>> {
  const { username, passwordHash, replaces, login, giver } = stored
  return changePrincipal(database, username, async (transaction, principal) => {
    const before = await userRow(transaction, principal.userId)
    if (replaces !== undefined && before.passwordHash !== replaces) return { result: 'outdated' }
    const updatedAt = new Date(clock.now())
    await transaction.update(users).set({ passwordHash, updatedAt }).where(eq(users.id, before.id))
    const keptLogin = login && isCurrent(principal, login) ? login : null
    const verify = (source: Drizzle) => requireToHandOver(source, giver, before)
    return { result: 'stored', change: { raiseGeneration: { keptLogin }, verify } }
  })
}
