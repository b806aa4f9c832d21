import { and, asc, eq, gt, ne, sql } from 'drizzle-orm'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import { type Page, type PageRequest, pageOfRows } from '../../shared/platform/pagination.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { anonymousUsername, foldUsername } from '../../shared/protocol/principal/record.ts'
import { users } from '../store/schema.ts'
import { adminRole } from './rights.ts'
import { isUsername, type User } from './user.ts'

/** A row of `users`. */
export type UserRow = typeof users.$inferSelect

/** The user in this row, without anything secret. */
export const toUser = (row: UserRow): User => ({
  id: row.id,
  username: row.username,
  roles: row.roles,
  rights: row.rights,
  enabled: row.enabled,
  createdAt: row.createdAt.getTime(),
  updatedAt: row.updatedAt.getTime(),
})

/** The refusal for a name that no user has. */
const noSuchUser = () => new ProblemError('not-found', 'there is no such user')

/** The row of this user. @throws ProblemError `not-found` */
export async function userRow(source: Drizzle, userId: string): Promise<UserRow> {
  const [row] = await source.select().from(users).where(eq(users.id, userId))
  if (!row) throw noSuchUser()
  return row
}

/** The user of this name. @throws ProblemError `not-found` */
export async function readUser(database: Database, username: string): Promise<User> {
  if (!isUsername(username)) throw noSuchUser()
  const [row] = await database.drizzle
    .select()
    .from(users)
    .where(eq(users.usernameFolded, foldUsername(username)))
  if (!row) throw noSuchUser()
  return toUser(row)
}

/** The hash of the user's password; undefined for nobody, and for a principal that has none. */
export async function readPasswordHash(database: Database, username: string): Promise<string | undefined> {
  const [row] = await database.drizzle
    .select({ passwordHash: users.passwordHash })
    .from(users)
    .where(eq(users.usernameFolded, foldUsername(username)))
  return row?.passwordHash ?? undefined
}

/** Users by folded name, which is a page's position. */
export async function listUsers(database: Database, { limit, after }: PageRequest): Promise<Page<User>> {
  const folded = sql`${users.usernameFolded} collate "C"`
  const rows = await database.drizzle
    .select()
    .from(users)
    .where(after && gt(folded, String(after[0])))
    .orderBy(asc(folded))
    .limit(limit + 1)
  return pageOfRows(rows, limit, { item: toUser, position: ({ usernameFolded }) => [usernameFolded] })
}

/** True when there is no user but the reserved one: a server that has just been set up. */
export async function hasNoUsers(database: Database): Promise<boolean> {
  const someone = ne(users.usernameFolded, anonymousUsername)
  const rows = await database.drizzle.select({ id: users.id }).from(users).where(someone).limit(1)
  return rows.length === 0
}

/** The name of a user that the demo has made, the first by name; undefined when there is none. */
export async function findMadeByDemo(database: Database): Promise<string | undefined> {
  const rows = database.drizzle.select({ username: users.username }).from(users).where(eq(users.madeByDemo, true))
  const [row] = await rows.orderBy(users.username).limit(1)
  return row?.username
}

/** True for an enabled user of the role `admin`. */
export const isEnabledAdmin = (user: Pick<UserRow, 'enabled' | 'roles'>): boolean =>
  user.enabled && user.roles.includes(adminRole)

/**
 * Refuses when no enabled admin is left. Only sound once the change has its number: then nobody else can take one away at the same
 * time. @throws ProblemError `last-admin`
 */
export async function verifyAdminLeft(transaction: Drizzle): Promise<void> {
  const admins = and(eq(users.enabled, true), sql`${adminRole} = any(${users.roles})`)
  const left = await transaction.select({ id: users.id }).from(users).where(admins).limit(1)
  if (left.length === 0) throw new ProblemError('last-admin', 'at least one enabled admin must be left')
}
