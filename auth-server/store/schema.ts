/**
 * The auth server's tables, all in the schema `auth`, which nobody else reads. Migrations are generated from this file. Knows
 * nothing of what the rows mean together: that is said where they are used.
 *
 * Order of locks, the same everywhere so that nobody waits in a circle: the row in `principals`, then `users`, then
 * `login_families`, and last of all `principal_change_counter`.
 */
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  pgSchema,
  smallint,
  text,
  timestamp,
  unique,
  uuid,
} from 'drizzle-orm/pg-core'

/** The PostgreSQL schema that the auth server owns. */
export const authSchema = pgSchema('auth')

const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'date' })

/** Users that exist. Times are those of the injected clock. */
export const users = authSchema.table(
  'users',
  {
    /** Immutable, never used again. */
    id: uuid().primaryKey(),
    /** As created; `username_folded` is the form it is looked up by. */
    username: text().notNull(),
    usernameFolded: text('username_folded').notNull(),
    /** Argon2id in PHC form; null for a principal that cannot log in. */
    passwordHash: text('password_hash'),
    roles: text().array().notNull(),
    /** Direct rights only, without those of the roles. */
    rights: text().array().notNull(),
    enabled: boolean().notNull(),
    createdAt: moment('created_at').notNull(),
    updatedAt: moment('updated_at').notNull(),
  },
  (table) => [
    unique('users_username_folded').on(table.usernameFolded),
    check('users_username_form', sql`${table.username} ~ '^[A-Za-z0-9._@-]{1,64}$'`),
    check('users_username_fold', sql`${table.usernameFolded} = lower(${table.username} collate "C")`),
    check('users_password_hash', sql`${table.passwordHash} like '$argon2id$%'`),
  ],
)

/**
 * One row for every name that was ever a user's: it outlives the user, so that generation and version go on counting when a
 * deleted name is created anew.
 */
export const principals = authSchema.table(
  'principals',
  {
    usernameFolded: text('username_folded').primaryKey(),
    /** As last created. */
    username: text().notNull(),
    /** The latest user of this name, deleted when there is no such row in `users`. */
    userId: uuid('user_id').notNull(),
    /** The credential generation. */
    generation: integer().notNull().default(1),
    /** The one login or session that stays alive with its former generation. */
    keptLoginId: text('kept_login_id'),
    keptLoginGeneration: integer('kept_login_generation'),
    /** Number of the latest change: the version of the principal record. */
    changeNumber: bigint('change_number', { mode: 'number' }).notNull().default(0),
  },
  (table) => [
    index('principals_change_number').on(table.changeNumber),
    index('principals_user_id').on(table.userId),
    check('principals_generation', sql`${table.generation} >= 1`),
    check(
      'principals_kept_login',
      sql`(${table.keptLoginId} is null) = (${table.keptLoginGeneration} is null) and coalesce(${table.keptLoginGeneration} < ${table.generation}, true)`,
    ),
  ],
)

/** A single row whose lock makes change numbers gap-free and visible in order (`shared/principals/feed.ts`). */
export const principalChangeCounter = authSchema.table(
  'principal_change_counter',
  {
    id: smallint().primaryKey().default(1),
    value: bigint({ mode: 'number' }).notNull().default(0),
    /**
     * Which installation this database is (`shared/principals/installation.ts`): whose numbers these are. A copy that is to run
     * beside its original, on the same Redis, needs a new one.
     */
    installationId: uuid('installation_id').notNull().defaultRandom(),
  },
  (table) => [check('principal_change_counter_single', sql`${table.id} = 1`)],
)

/** SQL: when the last token of a login expires. The refresh token of one that has ended is dead already. */
export const loginExpiry = sql.raw(
  'case when ended_at is null then greatest(tokens_expire_at, refresh_expires_at) else tokens_expire_at end',
)

/** One row per login: the family of its refresh tokens (CONTRACT "Refresh rotation"). */
export const loginFamilies = authSchema.table(
  'login_families',
  {
    /** The claim `sid`. */
    id: uuid().primaryKey(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    usernameFolded: text('username_folded')
      .notNull()
      .references(() => principals.usernameFolded),
    /** The credential generation at its making. */
    generation: integer().notNull(),
    /** Counter of the one refresh token that is not used yet. */
    counter: integer().notNull().default(0),
    /** When the token before it was used; null as long as none was. */
    rotatedAt: moment('rotated_at'),
    /** That unused refresh token, sealed, for a client that lost the answer; null for the first one. */
    successorSealed: text('successor_sealed'),
    createdAt: moment('created_at').notNull(),
    lastUsedAt: moment('last_used_at').notNull(),
    /** However often refreshed, the login ends here. */
    expiresAt: moment('expires_at').notNull(),
    /** When the unused refresh token expires. */
    refreshExpiresAt: moment('refresh_expires_at').notNull(),
    /** When the last of its access tokens expires: until then an ended login must be remembered. */
    tokensExpireAt: moment('tokens_expire_at').notNull(),
    clientAddress: text('client_address'),
    userAgent: text('user_agent'),
    endedAt: moment('ended_at'),
    endedReason: text('ended_reason', { enum: ['logout', 'reuse', 'administrator'] }),
  },
  (table) => [
    index('login_families_user_id').on(table.userId),
    index('login_families_ended').on(table.userId, table.tokensExpireAt).where(sql`${table.endedAt} is not null`),
    index('login_families_expires_at').on(table.expiresAt),
    index('login_families_expired').on(sql`(${loginExpiry})`),
    check('login_families_counter', sql`${table.counter} >= 0`),
    check('login_families_rotated', sql`(${table.rotatedAt} is null) = (${table.successorSealed} is null)`),
    check('login_families_ended', sql`(${table.endedAt} is null) = (${table.endedReason} is null)`),
    check('login_families_expiry', sql`${table.refreshExpiresAt} <= ${table.expiresAt}`),
  ],
)
