/**
 * Checks a user's name and password. The one place that compares passwords, for every scheme and endpoint that takes one.
 */
import { and, eq } from 'drizzle-orm'
import type { Database } from '../../shared/platform/database/database.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { BasicAttempt, ProvedUser } from '../../shared/protocol/authentication/basic/basic.ts'
import { notingRefusals } from '../../shared/protocol/login-throttle/limit-refusals.ts'
import type { LoginThrottle } from '../../shared/protocol/login-throttle/login-throttle.ts'
import { foldUsername } from '../../shared/protocol/principal/record.ts'
import { type Audit, recordRefusals } from '../audit/audit.ts'
import type { PasswordHashing } from '../passwords/password-hashing.ts'
import { exceedsPasswordLimit } from '../passwords/password-policy.ts'
import { users } from '../store/schema.ts'
import { isUsername } from '../users/user.ts'

/** A user whose password has just been proved. */
export interface PasswordHolder {
  readonly userId: string
  readonly username: string
  /** The stored hash the password was compared with: while it is the stored one, the proof holds. */
  readonly passwordHash: string
  /** The version of the user's principal record at that moment. */
  readonly version: number
}

/** What the check needs. */
export interface VerifyPasswordPorts {
  readonly database: Database
  readonly hashing: PasswordHashing
  readonly loginThrottle: LoginThrottle
}

/** A name and a password as presented. */
export interface PasswordAttempt {
  readonly username: string
  readonly password: string
  /** From where: guessing is limited by it. */
  readonly clientAddress: string
  /** How long to wait for others in flight, in milliseconds (`shared/protocol/login-throttle/login-throttle.ts`). */
  readonly patienceMs?: number
}

/** A deal server waits for no more than a few seconds. */
const basicPatienceMs = 1_500

const readSql = `select u.id as "userId", u.username, u.password_hash as "passwordHash", u.enabled,
  p.change_number::text as version
  from auth.users u join auth.principals p on p.username_folded = u.username_folded where u.username_folded = $1`

interface CredentialRow {
  readonly userId: string
  readonly username: string
  readonly passwordHash: string | null
  readonly enabled: boolean
  readonly version: string
}

/**
 * The user of this name and password; undefined, after the same time, when there is none, the user is disabled or has no password,
 * or the password is another.
 *
 * @throws ProblemError `too-many-attempts` after too many wrong ones
 * @throws Unavailable
 */
export function verifyPassword(
  ports: VerifyPasswordPorts,
  presented: PasswordAttempt,
): Promise<PasswordHolder | undefined> {
  const { username, clientAddress: address, patienceMs } = presented
  const account = isUsername(username) ? username : undefined
  const attempt = { account, address, ...(patienceMs === undefined ? {} : { patienceMs }) }
  return ports.loginThrottle.attempt(attempt, () => compare(ports, presented))
}

async function compare(
  { database, hashing }: VerifyPasswordPorts,
  { username, password, clientAddress }: PasswordAttempt,
): Promise<PasswordHolder | undefined> {
  if (exceedsPasswordLimit(password)) return undefined
  const rows = isUsername(username) ? await database.query<CredentialRow>(readSql, [foldUsername(username)]) : []
  const row = rows[0]
  const matches = await hashing.verify(row?.passwordHash, password, clientAddress)
  if (!row?.passwordHash || !matches || !row.enabled) return undefined
  const { userId, passwordHash } = row
  return { userId, username: row.username, passwordHash, version: Number(row.version) }
}

/**
 * Hashes a just proved password anew when the parameters have changed since. A busy moment is let pass: the next login tries again.
 */
export async function rehashPassword(
  { database, hashing }: Pick<VerifyPasswordPorts, 'database' | 'hashing'>,
  holder: PasswordHolder,
  password: string,
): Promise<void> {
  if (!hashing.needsRehash(holder.passwordHash)) return
  try {
    const passwordHash = await hashing.hash(password)
    await database.drizzle
      .update(users)
      .set({ passwordHash })
      .where(and(eq(users.id, holder.userId), eq(users.passwordHash, holder.passwordHash)))
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
  }
}

/** What checking a password with each request needs. */
export interface VerifyBasicPorts extends VerifyPasswordPorts {
  readonly audit: Audit
}

/** Checks a password that comes with each request, for either server (RFC 7617). @throws as `verifyPassword` */
export async function verifyBasic(ports: VerifyBasicPorts, presented: BasicAttempt): Promise<ProvedUser | undefined> {
  const loginThrottle = notingRefusals(ports.loginThrottle, 'basic', recordRefusals(ports.audit))
  const holder = await verifyPassword({ ...ports, loginThrottle }, { ...presented, patienceMs: basicPatienceMs })
  if (!holder) return undefined
  await rehashPassword(ports, holder, presented.password)
  const { username, userId, version } = holder
  return { username, userId, version }
}
