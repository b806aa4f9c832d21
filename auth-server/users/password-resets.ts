/**
 * One-time links for forgotten passwords (docs/contract/accounts.md#forgotten-passwords). A link carries a code of 256
 * random bits, of which only the hash is stored. It ends with the credential generation of its user: a new password,
 * disabling and a logout everywhere raise that number, so they need not know of links.
 */

import { createHash } from 'node:crypto'
import { and, eq, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { rfc3339 } from '../../shared/platform/clock.ts'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { expiryJob } from '../../shared/platform/database/expiry-job.ts'
import type { HousekeepingJob } from '../../shared/platform/database/housekeeping.ts'
import { parameters } from '../../shared/platform/database/statement.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { isAnonymous } from '../../shared/protocol/principal/record.ts'
import { passwordProblems } from '../passwords/password-policy.ts'
import { type ChangeOutcome, changePrincipal, type LockedPrincipal } from '../principals/principal-change.ts'
import { whenPublished } from '../principals/principal-publisher.ts'
import { p, u } from '../store/aliases.ts'
import { passwordResets, principals, users } from '../store/schema.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import { type Grantor, requireMayAccess } from './granting-rights.ts'
import { refuseProblems } from './user.ts'
import { userRow } from './user-rows.ts'

/** The use of a link. */
export interface PasswordResetUse {
  readonly code: string
  readonly newPassword: string
  /** The client's canonical address, for the login throttle. */
  readonly clientAddress: string
}

/** Links for forgotten passwords. */
export type PasswordResets = ReturnType<typeof createPasswordResets>

/** How long a link is accepted, in milliseconds. */
export const passwordResetMs = 3_600_000

const codeBytes = 32

/** Creates the links over these systems. Both functions throw Unavailable. */
export function createPasswordResets(systems: AuthSystems) {
  const { publisher, hashing, loginThrottle } = systems
  return {
    /**
     * Makes a link for another user, in place of the former one. Its code of 43 characters of base64url is not stored;
     * it expires at a time in milliseconds. The grantor must have every right of that user.
     * @throws ProblemError `not-found`, `reserved-user`, `user-disabled`, `missing-right`; `wrong-password` for the own
     *   account, whose password changes with the old one
     */
    create: async (username: string, grantor: Grantor) => {
      if (isAnonymous(username)) throw new ProblemError('reserved-user', 'The reserved user has no password.')
      return whenPublished(publisher, store(systems, username, grantor))
    },
    /**
     * Sets the password of the user whose link has this code, and revokes the user's logins, sessions and tokens. The
     * change is published when the promise resolves to the user name. A refused password does not use the link up.
     * @throws ProblemError `invalid-reset-code`, `invalid-value`, `too-many-attempts`
     */
    use: async ({ code, newPassword, clientAddress }: PasswordResetUse) => {
      const attempt = { account: undefined, address: clientAddress }
      const username = await loginThrottle.attempt(attempt, () => find(systems, code))
      if (username === undefined) throw notAccepted()
      refuseProblems(passwordProblems({ username, password: newPassword }, '/newPassword'))
      const passwordHash = await hashing.hash(newPassword)
      return whenPublished(publisher, useUp(systems, { username, code, passwordHash }))
    },
  }
}

const hashOf = (code: string): string => createHash('sha256').update(code).digest('base64url')

/** One answer for a code that never was, and for one that was used, was replaced, or has expired. */
const notAccepted = () =>
  new ProblemError('invalid-reset-code', 'This link is not accepted: it was used, replaced, or has expired.')

const store = ({ database, clock, ids }: AuthSystems, username: string, grantor: Grantor) =>
  changePrincipal(database, username, async (transaction, principal) => {
    const user = await userRow(transaction, principal.userId)
    if (user.id === grantor.userId) {
      throw new ProblemError('wrong-password', 'You change your own password with the old one, without a link.')
    }
    if (!user.enabled) throw new ProblemError('user-disabled', 'Enable the user first: the link would be of no use.')
    const [code, now] = [ids.secret(codeBytes), clock.now()]
    const stored = {
      codeHash: hashOf(code),
      generation: principal.generation,
      createdAt: new Date(now),
      expiresAt: new Date(now + passwordResetMs),
    }
    await transaction
      .insert(passwordResets)
      .values({ userId: user.id, ...stored })
      .onConflictDoUpdate({ target: passwordResets.userId, set: stored })
    const verify = (source: Drizzle) => requireMayAccess(source, grantor, user)
    return { result: { code, expiresAt: now + passwordResetMs }, change: { verify } }
  })

const r = alias(passwordResets, 'r')

const used = parameters({ codeHash: 'text', now: 'timestamptz' })
const findSql =
  used.statement(sql`select ${u.username} from ${passwordResets} ${r} join ${users} ${u} on ${u.id} = ${r.userId}
  join ${principals} ${p} on ${p.usernameFolded} = ${u.usernameFolded}
  where ${r.codeHash} = ${used.codeHash} and ${r.expiresAt} > ${used.now}
    and ${r.generation} = ${p.generation} and ${u.enabled}`)

/** The name of the user whose link has this code and is accepted now. */
async function find({ database, clock }: AuthSystems, code: string): Promise<string | undefined> {
  const [row] = await database.query<{ username: string }>(
    ...findSql({ codeHash: hashOf(code), now: rfc3339(clock.now()) }),
  )
  return row?.username
}

/** Of several uses at the same time, one finds the link. */
const useUp = (
  { database, clock }: AuthSystems,
  { username, code, passwordHash }: { username: string; code: string; passwordHash: string },
) =>
  changePrincipal(database, username, async (transaction, principal): Promise<ChangeOutcome<string>> => {
    await takeLink(transaction, principal, { code, now: clock.now() })
    const user = await userRow(transaction, principal.userId)
    if (!user.enabled) throw notAccepted()
    await transaction
      .update(users)
      .set({ passwordHash, updatedAt: new Date(clock.now()) })
      .where(eq(users.id, user.id))
    const { username: target } = user
    const entries = [{ action: 'user.password-reset', actor: target, target }]
    return { result: target, change: { raiseGeneration: { keptLogin: null }, endsLock: true }, entries }
  })

/** @throws ProblemError `invalid-reset-code` when the link is not accepted any more */
async function takeLink(
  transaction: Drizzle,
  { userId, generation }: LockedPrincipal,
  { code, now }: { readonly code: string; readonly now: number },
): Promise<void> {
  const isLink = and(eq(passwordResets.userId, userId), eq(passwordResets.codeHash, hashOf(code)))
  const [link] = await transaction.delete(passwordResets).where(isLink).returning()
  if (!link || link.generation !== generation || link.expiresAt.getTime() <= now) throw notAccepted()
}

/** Deletes links for forgotten passwords that were not used. */
export const createPasswordResetExpiry = (): HousekeepingJob =>
  expiryJob({ name: 'expired password resets', table: passwordResets, expiresAt: passwordResets.expiresAt })
