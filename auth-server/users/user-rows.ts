import { and, asc, eq, gt, ne, sql } from 'drizzle-orm'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import { gatherRows } from '../../shared/platform/database/gather-statements.ts'
import { parameters } from '../../shared/platform/database/statement.ts'
import { type Page, type PageRequest, pageOfRows } from '../../shared/platform/pagination.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { anonymousUsername, foldUsername, isUsername } from '../../shared/protocol/principal/record.ts'
import { adminRole } from '../principals/rights.ts'
import { u } from '../store/aliases.ts'
import { users } from '../store/schema.ts'
import type { Profile, User } from './user.ts'

/** A row of `users`. */
export type UserRow = typeof users.$inferSelect

/** The user in this row, without secrets. */
export const toUser = (row: UserRow): User => ({
  id: row.id,
  username: row.username,
  displayName: row.displayName,
  email: row.email,
  emailVerified: row.emailVerified,
  roles: row.roles,
  rights: row.rights,
  enabled: row.enabled,
  createdAt: row.createdAt.getTime(),
  updatedAt: row.updatedAt.getTime(),
})

/** The error for an unknown user name. */
export const noSuchUser = () => new ProblemError('not-found', 'There is no such user.')

/** Reads the row of this user. @throws ProblemError `not-found` */
export async function userRow(source: Drizzle, userId: string): Promise<UserRow> {
  const [row] = await source.select().from(users).where(eq(users.id, userId))
  if (!row) throw noSuchUser()
  return row
}

/** Reads the user with this name. @throws ProblemError `not-found` */
export async function readUser(database: Database, username: string): Promise<User> {
  if (!isUsername(username)) throw noSuchUser()
  const [row] = await database.drizzle
    .select()
    .from(users)
    .where(eq(users.usernameFolded, foldUsername(username)))
  if (!row) throw noSuchUser()
  return toUser(row)
}

const asked = parameters({ ids: 'json' })
const profilesSql = asked.statement(sql`
  select ${u.id}, ${u.displayName} as "displayName", ${u.email}, ${u.emailVerified} as "emailVerified"
  from json_array_elements_text(${asked.ids}) as i(id) join ${users} ${u} on ${u.id} = i.id::uuid`)

/**
 * Creates the function that reads what people know a user by. It is undefined when the user was just deleted.
 * Concurrent callers share a statement. @throws Unavailable
 */
export const createProfileReader = (database: Pick<Database, 'query'>) =>
  gatherRows(
    (ids) => database.query<Profile & { readonly id: string }>(...profilesSql({ ids })),
    ({ id }) => id,
  )

/** Reads the hash of the user's password. Undefined for an unknown user and for a user without a password. */
export async function readPasswordHash(database: Database, username: string): Promise<string | undefined> {
  const [row] = await database.drizzle
    .select({ passwordHash: users.passwordHash })
    .from(users)
    .where(eq(users.usernameFolded, foldUsername(username)))
  return row?.passwordHash ?? undefined
}

/** What listed users must have. Members that are left out hold for every user. */
export interface UserFilter {
  /** A part of the name, in any case of its ASCII letters. */
  readonly q?: string | undefined
  /** A role that the user has. */
  readonly role?: string | undefined
  readonly enabled?: boolean | undefined
}

/** Lists users in the order of their folded names. The cursor holds the last folded name. */
export async function listUsers(
  database: Database,
  { limit, after, q, role, enabled }: PageRequest & UserFilter,
): Promise<Page<User>> {
  const folded = sql`${users.usernameFolded} collate "C"`
  const conditions = [
    after && gt(folded, String(after[0])),
    q === undefined ? undefined : sql`strpos(${users.usernameFolded}, ${foldUsername(q)}) > 0`,
    role === undefined ? undefined : sql`${role} = any(${users.roles})`,
    enabled === undefined ? undefined : eq(users.enabled, enabled),
  ]
  const rows = await database.drizzle
    .select()
    .from(users)
    .where(and(...conditions))
    .orderBy(asc(folded))
    .limit(limit + 1)
  return pageOfRows(rows, limit, { item: toUser, position: ({ usernameFolded }) => [usernameFolded] })
}

/** True when only the reserved user exists, as on a new server. */
export async function hasNoUsers(database: Database): Promise<boolean> {
  const notReserved = ne(users.usernameFolded, anonymousUsername)
  const rows = await database.drizzle.select({ id: users.id }).from(users).where(notReserved).limit(1)
  return rows.length === 0
}

/** The first demo user by name; undefined when there is none. */
export async function findMadeByDemo(database: Database): Promise<string | undefined> {
  const rows = database.drizzle.select({ username: users.username }).from(users).where(eq(users.madeByDemo, true))
  const [row] = await rows.orderBy(users.username).limit(1)
  return row?.username
}

/** True for an enabled user with the role `admin`. */
export const isEnabledAdmin = (user: Pick<UserRow, 'enabled' | 'roles'>): boolean =>
  user.enabled && user.roles.includes(adminRole)

/**
 * Refuses when no enabled admin is left. Call it after the change got its version: no other change can then remove an
 * admin at the same time. @throws ProblemError `last-admin`
 */
export async function verifyAdminLeft(transaction: Drizzle): Promise<void> {
  const admins = and(eq(users.enabled, true), sql`${adminRole} = any(${users.roles})`)
  const left = await transaction.select({ id: users.id }).from(users).where(admins).limit(1)
  if (left.length === 0) throw new ProblemError('last-admin', 'At least one enabled admin must be left.')
}
