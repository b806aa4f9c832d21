/**
 * Checks a user's name and password. The one place that compares passwords, for every scheme and endpoint that takes one.
 */
import { and, eq } from 'drizzle-orm'
import type { Database } from '../../shared/database/database.ts'
import { Unavailable } from '../../shared/errors.ts'
import type { Guesses } from '../../shared/limits/guesses.ts'
import { foldUsername } from '../../shared/principals/record.ts'
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
}

/** What the check needs. */
export interface VerifyPasswordPorts {
  readonly database: Database
  readonly hashing: PasswordHashing
  readonly guesses: Guesses
}

/** A name and a password as presented. */
export interface PresentedPassword {
  readonly username: string
  readonly password: string
  /** From where: guessing is limited by it. */
  readonly clientAddress: string
}

const readSql = `select u.id as "userId", u.username, u.password_hash as "passwordHash", u.enabled
  from auth.users u where u.username_folded = $1`

type CredentialRow = { userId: string; username: string; passwordHash: string | null; enabled: boolean }

/**
 * The user of this name and password; undefined, after the same time, when there is none, the user is disabled or has no password,
 * or the password is another.
 *
 * @throws Refused `too-many-attempts` after too many wrong ones
 * @throws Unavailable
 */
export function verifyPassword(
  ports: VerifyPasswordPorts,
  presented: PresentedPassword,
): Promise<PasswordHolder | undefined> {
  const { username, clientAddress: address } = presented
  const account = isUsername(username) ? username : undefined
  return ports.guesses.attempt({ account, address }, () => compare(ports, presented))
}

async function compare(
  { database, hashing }: VerifyPasswordPorts,
  { username, password }: PresentedPassword,
): Promise<PasswordHolder | undefined> {
  if (exceedsPasswordLimit(password)) return undefined
  const rows = isUsername(username) ? await database.query<CredentialRow>(readSql, [foldUsername(username)]) : []
  const row = rows[0]
  const matches = await hashing.verify(row?.passwordHash, password)
  if (!row?.passwordHash || !matches || !row.enabled) return undefined
  return { userId: row.userId, username: row.username, passwordHash: row.passwordHash }
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
