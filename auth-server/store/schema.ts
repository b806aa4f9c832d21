/**
 * The auth server's tables, all in the schema `auth`, which nobody else reads. Migrations are generated from this file. Knows
 * nothing of what the rows mean together: that is said where they are used.
 *
 * Order of locks, the same everywhere so that nobody waits in a circle: the row in `principals`, then `users`, then `login_families`,
 * `sessions`, `api_keys` and `digest_secrets`, then `principal_change_counter`. `audit_head` is locked in transactions of its own.
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
import { digestCountsTable, usedSignaturesTable } from '../../shared/protocol/authentication/credential-tables.ts'

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
    /** Made by the demo, for as long as the user exists, whatever is changed of it; its API keys are deleted with it. */
    madeByDemo: boolean('made_by_demo').notNull().default(false),
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
    principalVersion: bigint('change_number', { mode: 'number' }).notNull().default(0),
  },
  (table) => [
    index('principals_change_number').on(table.principalVersion),
    index('principals_user_id').on(table.userId),
    check('principals_generation', sql`${table.generation} >= 1`),
    check(
      'principals_kept_login',
      sql`(${table.keptLoginId} is null) = (${table.keptLoginGeneration} is null) and coalesce(${table.keptLoginGeneration} < ${table.generation}, true)`,
    ),
  ],
)

/** A single row whose lock makes change numbers gap-free and visible in order (`shared/protocol/principal/change-feed.ts`). */
export const principalChangeCounter = authSchema.table(
  'principal_change_counter',
  {
    id: smallint().primaryKey().default(1),
    value: bigint({ mode: 'number' }).notNull().default(0),
    /**
     * Which instance this database is (`shared/protocol/principal/instance-id.ts`): whose numbers these are. A copy that is to run
     * beside its original, on the same Redis, needs a new one.
     */
    instanceId: uuid('installation_id').notNull().defaultRandom(),
  },
  (table) => [check('principal_change_counter_single', sql`${table.id} = 1`)],
)

/** SQL: when the last token of a login expires. The refresh token of one that has ended is dead already. */
export const loginExpiry = sql.raw(
  'case when ended_at is null then greatest(tokens_expire_at, refresh_expires_at) else tokens_expire_at end',
)

/** One row per login: the family of its refresh tokens (docs/contract.md#refresh-rotation). */
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
    endedReason: text('ended_reason', { enum: ['logout', 'reuse', 'administrator', 'displaced'] }),
  },
  (table) => [
    index('login_families_user_id').on(table.userId),
    index('login_families_ended').on(table.userId, table.tokensExpireAt).where(sql`${table.endedAt} is not null`),
    index('login_families_expired').on(sql`(${loginExpiry})`),
    check('login_families_counter', sql`${table.counter} >= 0`),
    check('login_families_rotated', sql`(${table.rotatedAt} is null) = (${table.successorSealed} is null)`),
    check('login_families_ended', sql`(${table.endedAt} is null) = (${table.endedReason} is null)`),
    check('login_families_expiry', sql`${table.refreshExpiresAt} <= ${table.expiresAt}`),
  ],
)

/** One row per cookie session. The key itself is nowhere: who holds it proves it by its hash. */
export const sessions = authSchema.table(
  'sessions',
  {
    /** The public id. */
    id: uuid().primaryKey(),
    /** SHA-256 (base64url) of the session key. */
    keyHash: text('key_hash').notNull(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    usernameFolded: text('username_folded')
      .notNull()
      .references(() => principals.usernameFolded),
    /** The credential generation at its making. */
    generation: integer().notNull(),
    createdAt: moment('created_at').notNull(),
    /** The last-action time; moves in coarse steps. */
    lastUsedAt: moment('last_used_at').notNull(),
    /** However much used, the session ends here. */
    expiresAt: moment('expires_at').notNull(),
    clientAddress: text('client_address'),
    userAgent: text('user_agent'),
    endedAt: moment('ended_at'),
    endedReason: text('ended_reason', { enum: ['logout', 'replaced', 'administrator', 'displaced'] }),
  },
  (table) => [
    unique('sessions_key_hash').on(table.keyHash),
    index('sessions_user_id').on(table.userId),
    index('sessions_ended').on(table.userId, table.expiresAt).where(sql`${table.endedAt} is not null`),
    index('sessions_expires_at').on(table.expiresAt),
    check('sessions_ended', sql`(${table.endedAt} is null) = (${table.endedReason} is null)`),
  ],
)

/** One row per API key. A revoked one stays until the last token made with it has expired. */
export const apiKeys = authSchema.table(
  'api_keys',
  {
    /** Public: `apiKey` of a signed request, `client_id` at `/oauth/token`, `sid` of the tokens made there. */
    id: uuid().primaryKey(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    usernameFolded: text('username_folded')
      .notNull()
      .references(() => principals.usernameFolded),
    kind: text('kind', { enum: ['hmac', 'rsa'] }).notNull(),
    name: text(),
    /** The secret of kind `hmac`, sealed. */
    secretSealed: text('secret_sealed'),
    /** The public key of kind `rsa`: SPKI PEM. */
    publicKeyPem: text('public_key_pem'),
    requireBodyHash: boolean('require_body_hash').notNull(),
    /** Narrower than its owner's; null: all that the owner has. */
    rights: text().array(),
    createdAt: moment('created_at').notNull(),
    expiresAt: moment('expires_at'),
    /** Moves in coarse steps. */
    lastUsedAt: moment('last_used_at'),
    revokedAt: moment('revoked_at'),
    /** When the last access token made with it expires: until then a revoked key must be remembered. */
    tokensExpireAt: moment('tokens_expire_at'),
  },
  (table) => [
    index('api_keys_user_id').on(table.userId, table.createdAt, table.id),
    index('api_keys_all').on(table.createdAt, table.id),
    index('api_keys_revoked').on(table.revokedAt).where(sql`${table.revokedAt} is not null`),
    check(
      'api_keys_material',
      sql`case ${table.kind} when 'hmac' then ${table.secretSealed} is not null and ${table.publicKeyPem} is null else ${table.publicKeyPem} is not null and ${table.secretSealed} is null end`,
    ),
  ],
)

/** Access tokens of API keys and key-signed tokens that were revoked one by one (RFC 7009), until they expire. */
export const endedTokens = authSchema.table(
  'ended_tokens',
  {
    /** The claim `jti`, or the own id of a key-signed token. */
    id: uuid().primaryKey(),
    /** Outlives the user: the token expires soon. */
    userId: uuid('user_id').notNull(),
    endedAt: moment('ended_at').notNull(),
    expiresAt: moment('expires_at').notNull(),
  },
  (table) => [
    index('ended_tokens_user_id').on(table.userId, table.expiresAt),
    index('ended_tokens_expires_at').on(table.expiresAt),
  ],
)

/** What HTTP Digest needs of a user (RFC 7616 §3.4.2, §3.4.4); never anything of the password. */
export const digestSecrets = authSchema.table(
  'digest_secrets',
  {
    userId: uuid('user_id')
      .primaryKey()
      .references(() => users.id, { onDelete: 'cascade' }),
    usernameFolded: text('username_folded')
      .notNull()
      .references(() => principals.usernameFolded),
    /** SHA-256 (hex) of `username:realm:secret`, sealed. */
    ha1Sealed: text('ha1_sealed').notNull(),
    /** SHA-256 (hex) of `username:realm`. */
    userhash: text().notNull(),
    updatedAt: moment('updated_at').notNull(),
  },
  (table) => [unique('digest_secrets_userhash').on(table.userhash)],
)

/** The audit log: append-only, each entry's MAC over the one before. */
export const auditEntries = authSchema.table(
  'audit_entries',
  {
    /** Without gaps, from 1. */
    seq: bigint({ mode: 'number' }).primaryKey(),
    at: moment('at').notNull(),
    actor: text(),
    action: text().notNull(),
    target: text(),
    outcome: text().notNull(),
    scheme: text(),
    address: text(),
    requestId: text('request_id'),
    /** How many equal refusals the entry stands for. */
    count: integer().notNull().default(1),
    /** Which key of SECRETS_KEY the MAC is made with. */
    keyId: text('key_id').notNull(),
    /** HMAC-SHA256 (base64url) over the MAC before and this entry. */
    mac: text().notNull(),
  },
  (table) => [check('audit_entries_seq', sql`${table.seq} >= 1`)],
)

/** A single row: how many audit entries there are, and the last one's MAC. */
export const auditHead = authSchema.table(
  'audit_head',
  {
    id: smallint().primaryKey().default(1),
    count: bigint({ mode: 'number' }).notNull().default(0),
    mac: text().notNull().default(''),
  },
  (table) => [check('audit_head_single', sql`${table.id} = 1`)],
)

/** See `shared/protocol/authentication/credential-tables.ts`. */
export const usedSignatures = usedSignaturesTable(authSchema)

/** See `shared/protocol/authentication/credential-tables.ts`. */
export const digestCounts = digestCountsTable(authSchema)
