/** Checks a user name and a password. Every scheme and endpoint that takes a password uses this file. */

import { sql } from 'drizzle-orm'
import { build, parameters } from '../../shared/platform/database/statement.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { BasicAttempt, ProvedUser } from '../../shared/protocol/authentication/basic/basic.ts'
import { foldUsername, isUsername } from '../../shared/protocol/principal/record.ts'
import { notingRefusals } from '../../shared/server/login-throttle/limit-refusals.ts'
import { recordRefusals } from '../audit/audit.ts'
import { exceedsPasswordLimit } from '../passwords/password-policy.ts'
import type { PasswordHolder } from '../second-factors/ask-at-login.ts'
import { p, u } from '../store/aliases.ts'
import { principals, users } from '../store/schema.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'

/** A user name and a password from a request. */
export interface PasswordAttempt {
  readonly username: string
  readonly password: string
  /** The address of the client, for the login throttle. */
  readonly clientAddress: string
  /**
   * How long to wait for other attempts under way, in milliseconds
   * (`shared/protocol/authentication/login-throttle.ts`).
   */
  readonly patienceMs?: number
}

/** The patience of HTTP Basic, in milliseconds: with a hash after it, less than the six seconds of a deal server. */
const basicPatienceMs = 4_000

const named = parameters({ usernameFolded: 'text' })
const readSql =
  named.statement(sql`select ${u.id} as "userId", ${u.username}, ${u.passwordHash} as "passwordHash", ${u.enabled},
  ${p.principalVersion}::text as version
  from ${users} ${u} join ${principals} ${p} on ${p.usernameFolded} = ${u.usernameFolded}
  where ${u.usernameFolded} = ${named.usernameFolded}`)

interface CredentialRow {
  readonly userId: string
  readonly username: string
  readonly passwordHash: string | null
  readonly enabled: boolean
  readonly version: string
}

/**
 * The user with this name and password. Undefined, after the same time, for an unknown user, a wrong password, a
 * disabled user and a user without a password.
 *
 * @throws ProblemError `too-many-attempts` after too many failed attempts
 * @throws Unavailable
 */
export function verifyPassword(systems: AuthSystems, received: PasswordAttempt): Promise<PasswordHolder | undefined> {
  const { username, clientAddress: address, patienceMs } = received
  const account = isUsername(username) ? username : undefined
  const attempt = { account, address, ...(patienceMs === undefined ? {} : { patienceMs }) }
  return systems.loginThrottle.attempt(attempt, () => compare(systems, received))
}

async function compare(
  { database, hashing }: AuthSystems,
  { username, password, clientAddress }: PasswordAttempt,
): Promise<PasswordHolder | undefined> {
  if (exceedsPasswordLimit(password)) return undefined
  const usernameFolded = foldUsername(username)
  const rows = isUsername(username) ? await database.query<CredentialRow>(...readSql({ usernameFolded })) : []
  const row = rows[0]
  const matches = await hashing.verify(row?.passwordHash, password, clientAddress)
  if (!row?.passwordHash || !matches || !row.enabled) return undefined
  const { userId, passwordHash } = row
  return { userId, username: row.username, passwordHash, version: Number(row.version) }
}

const rehashed = parameters({ userId: 'uuid', passwordHash: 'text', newHash: 'text' })
const rehashSql = rehashed.statement(
  build
    .update(users)
    .set({ passwordHash: rehashed.newHash })
    .where(sql`${users.id} = ${rehashed.userId} and ${users.passwordHash} = ${rehashed.passwordHash}`),
)

/**
 * Hashes a checked password again when the hash parameters have changed. Ignores Unavailable: the next login tries
 * again.
 */
export async function rehashPassword(
  { database, hashing }: AuthSystems,
  holder: PasswordHolder,
  password: string,
): Promise<void> {
  if (!hashing.needsRehash(holder.passwordHash)) return
  try {
    const { userId, passwordHash } = holder
    await database.write(...rehashSql({ userId, passwordHash, newHash: await hashing.hash(password) }))
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
  }
}

/** Checks the password of HTTP Basic, for both servers (RFC 7617). @throws as `verifyPassword` */
export async function verifyBasic(systems: AuthSystems, received: BasicAttempt): Promise<ProvedUser | undefined> {
  const loginThrottle = notingRefusals(systems.loginThrottle, 'basic', recordRefusals(systems.audit))
  const holder = await verifyPassword({ ...systems, loginThrottle }, { ...received, patienceMs: basicPatienceMs })
  if (!holder) return undefined
  await rehashPassword(systems, holder, received.password)
  const { username, userId, version } = holder
  return { username, userId, version }
}
