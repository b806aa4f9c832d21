/**
 * The tables of the auth server, in the schema `auth`, which no other server reads. Migrations are generated from this
 * file. The folders that use the tables explain how rows belong together.
 *
 * All transactions lock in the same order, so that there is no deadlock: the row in `principals`, then `users`, then
 * `login_families`, `sessions`, `api_keys`, `digest_secrets`, `password_resets`, `second_factors` and `consents`, then
 * `principal_change_counter`. The row `:catalogue` in `principals` comes before other rows: it is the lock of
 * `resource_servers`, `rights`, `roles`, `services` and `clients`. `audit_head` and `audit_archive` are locked in
 * transactions of their own; `audit_head` comes before `audit_journal`.
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

const time = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'date' })

/** The users. Times come from the server's clock, not from PostgreSQL. */
export const users = authSchema.table(
  'users',
  {
    /** Immutable. An id is never used again. */
    id: uuid().primaryKey(),
    /** The name as created; `username_folded` is the form for lookups. */
    username: text().notNull(),
    usernameFolded: text('username_folded').notNull(),
    /** The name that people read, of the claim `name`; null: none. */
    displayName: text('display_name'),
    email: text(),
    /** An administrator has checked the address. */
    emailVerified: boolean('email_verified').notNull().default(false),
    /**
     * Argon2id in PHC form, or the hash of another system until the first login; null for a principal that cannot log
     * in.
     */
    passwordHash: text('password_hash'),
    roles: text().array().notNull(),
    /** Direct rights only, without those of the roles. */
    rights: text().array().notNull(),
    enabled: boolean().notNull(),
    /** True for a demo user, permanently, also after changes. Its API keys are deleted with it. */
    madeByDemo: boolean('made_by_demo').notNull().default(false),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at').notNull(),
  },
  (table) => [
    unique('users_username_folded').on(table.usernameFolded),
    check('users_username_form', sql`${table.username} ~ '^[A-Za-z0-9._@-]{1,64}$'`),
    check('users_username_fold', sql`${table.usernameFolded} = lower(${table.username} collate "C")`),
    check('users_password_hash', sql`${table.passwordHash} ~ '^[$](argon2id|2[aby]|scrypt|pbkdf2-sha(1|256|512))[$]'`),
    check('users_email_verified', sql`${table.email} is not null or not ${table.emailVerified}`),
  ],
)

/**
 * One row for each user name that was ever used. It stays when the user is deleted, so that generation and version
 * count on when the name is created again.
 */
export const principals = authSchema.table(
  'principals',
  {
    usernameFolded: text('username_folded').primaryKey(),
    /** The name in the form of its latest user. */
    username: text().notNull(),
    /** The latest user with this name; without a row in `users` it is deleted. */
    userId: uuid('user_id').notNull(),
    /** The credential generation. */
    generation: integer().notNull().default(1),
    /** The one login or session that stays valid with the former generation. */
    keptLoginId: text('kept_login_id'),
    keptLoginGeneration: integer('kept_login_generation'),
    /** Failed attempts count under it: a new password and an unlock raise it, so that they count from zero. */
    throttleGeneration: integer('throttle_generation').notNull().default(1),
    /** The version of the latest change of this principal. */
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

/**
 * A single row, whose lock gives principal versions without gaps and visible in order
 * (docs/revocation.md#writing-a-change).
 */
export const principalChangeCounter = authSchema.table(
  'principal_change_counter',
  {
    id: smallint().primaryKey().default(1),
    value: bigint({ mode: 'number' }).notNull().default(0),
    /**
     * The instance id of this database (`shared/protocol/principal/instance-id.ts`). A copy of the database that runs
     * beside the original, with the same Redis, needs a new id.
     */
    instanceId: uuid('installation_id').notNull().defaultRandom(),
    /** SECOND_FACTOR_ROLES as the records were made by; null: none. */
    secondFactorRoles: text('second_factor_roles').array(),
    /** Roles and direct rights that demand a second factor: what follows from SECOND_FACTOR_ROLES and the catalogue. */
    demandingRoles: text('demanding_roles').array().notNull().default(sql`'{}'`),
    demandingRights: text('demanding_rights').array().notNull().default(sql`'{}'`),
  },
  (table) => [check('principal_change_counter_single', sql`${table.id} = 1`)],
)

/** The user whose row it is, and with whom it goes. */
export const ofUser = () => uuid('user_id').references(() => users.id, { onDelete: 'cascade' })

const ofPrincipal = () =>
  text('username_folded')
    .notNull()
    .references(() => principals.usernameFolded)

/** SQL for the expiry of the last token of a login. The refresh token of a revoked login does not count. */
export const loginExpiry = sql.raw(
  'case when ended_at is null then greatest(tokens_expire_at, refresh_expires_at) else tokens_expire_at end',
)

/** One row for each login by token: its refresh token family (docs/contract/logins.md#refresh-rotation). */
export const loginFamilies = authSchema.table(
  'login_families',
  {
    /** The claim `sid`. */
    id: uuid().primaryKey(),
    userId: ofUser().notNull(),
    usernameFolded: ofPrincipal(),
    /** The credential generation at the start. */
    generation: integer().notNull(),
    /** The counter of the one unused refresh token. */
    counter: integer().notNull().default(0),
    /** When the token before it was used, by PostgreSQL's clock; null before the first rotation. */
    rotatedAt: time('rotated_at'),
    /** The same of the token two before it. */
    formerRotatedAt: time('former_rotated_at'),
    /** The unused refresh token, encrypted, for a client that lost the response; null for the first token. */
    successorSealed: text('successor_sealed'),
    createdAt: time('created_at').notNull(),
    lastUsedAt: time('last_used_at').notNull(),
    /** The end of the login, which a refresh does not move. */
    expiresAt: time('expires_at').notNull(),
    /** When the unused refresh token expires. */
    refreshExpiresAt: time('refresh_expires_at').notNull(),
    /** When the last of its access tokens expires: until then a revoked login must be remembered. */
    tokensExpireAt: time('tokens_expire_at').notNull(),
    clientAddress: text('client_address'),
    userAgent: text('user_agent'),
    /** The second factor of the login (RFC 8176 value); null for a login by password alone. */
    secondFactor: text('second_factor'),
    /** The audience of its credentials; null: that of the pair (AUDIENCE). */
    audience: text(),
    /** The client that it signs in to; null for a login at `/login`. The login ends with the client. */
    clientId: uuid('client_id'),
    /** The session that its user signed in by, and that it ends with unless it has the scope `offline_access`. */
    sessionId: uuid('session_id'),
    /** The rights of its tokens, of those that the user has; null: all of them. */
    rights: text().array(),
    /** The scopes of OpenID Connect; null for a login at `/login`. */
    scopes: text().array(),
    /** When the user signed in; null: when the login began. */
    authenticatedAt: time('authenticated_at'),
    endedAt: time('ended_at'),
    endedReason: text('ended_reason', {
      enum: ['logout', 'reuse', 'administrator', 'displaced', 'code-reuse', 'consent-withdrawn', 'session-ended'],
    }),
  },
  (table) => [
    index('login_families_user_id').on(table.userId),
    index('login_families_session_id').on(table.sessionId).where(sql`${table.endedAt} is null`),
    index('login_families_ended').on(table.userId, table.tokensExpireAt).where(sql`${table.endedAt} is not null`),
    index('login_families_expired').on(sql`(${loginExpiry})`),
    check('login_families_counter', sql`${table.counter} >= 0`),
    check('login_families_rotated', sql`(${table.rotatedAt} is null) = (${table.successorSealed} is null)`),
    check('login_families_ended', sql`(${table.endedAt} is null) = (${table.endedReason} is null)`),
    check('login_families_expiry', sql`${table.refreshExpiresAt} <= ${table.expiresAt}`),
  ],
)

/** One row for each session. Only the hash of the session key is stored. */
export const sessions = authSchema.table(
  'sessions',
  {
    /** The public id. */
    id: uuid().primaryKey(),
    /** SHA-256 (base64url) of the session key. */
    keyHash: text('key_hash').notNull(),
    userId: ofUser().notNull(),
    usernameFolded: ofPrincipal(),
    /** The credential generation at the start. */
    generation: integer().notNull(),
    createdAt: time('created_at').notNull(),
    /** The last-action time, which moves in coarse steps. */
    lastUsedAt: time('last_used_at').notNull(),
    /** The end of the session, which its use does not move. */
    expiresAt: time('expires_at').notNull(),
    clientAddress: text('client_address'),
    userAgent: text('user_agent'),
    /** The second factor of the login (RFC 8176 value); null for a login by password alone. */
    secondFactor: text('second_factor'),
    /** The audience of its credentials; null: that of the pair (AUDIENCE). */
    audience: text(),
    endedAt: time('ended_at'),
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

/** One row for each API key. A revoked key stays until the last token made with it has expired. */
export const apiKeys = authSchema.table(
  'api_keys',
  {
    /** Public: `apiKey` of a signed request, `client_id` at `/oauth/token`, `sid` of the tokens made there. */
    id: uuid().primaryKey(),
    userId: ofUser().notNull(),
    usernameFolded: ofPrincipal(),
    kind: text('kind', { enum: ['hmac', 'rsa'] }).notNull(),
    name: text(),
    /** The secret of kind `hmac`, encrypted. */
    secretSealed: text('secret_sealed'),
    /** The public key of kind `rsa`: SPKI PEM. */
    publicKeyPem: text('public_key_pem'),
    /** The material before the last rotation, which is accepted until `former_until`. */
    formerSecretSealed: text('former_secret_sealed'),
    formerPublicKeyPem: text('former_public_key_pem'),
    formerUntil: time('former_until'),
    requireBodyHash: boolean('require_body_hash').notNull(),
    /** Made or confirmed with a second factor. Others are suspended while their owner has or needs one. */
    confirmed: boolean().notNull().default(false),
    /** The rights of the key, of those that its owner has; null: all of them. */
    rights: text().array(),
    createdAt: time('created_at').notNull(),
    expiresAt: time('expires_at'),
    /** The last use, which moves in coarse steps. */
    lastUsedAt: time('last_used_at'),
    revokedAt: time('revoked_at'),
    /** When the last access token made with the key expires: until then a revoked key must be remembered. */
    tokensExpireAt: time('tokens_expire_at'),
  },
  (table) => [
    index('api_keys_user_id').on(table.userId, table.createdAt, table.id),
    index('api_keys_all').on(table.createdAt, table.id),
    index('api_keys_revoked').on(table.revokedAt).where(sql`${table.revokedAt} is not null`),
    index('api_keys_expiring').on(table.expiresAt).where(sql`${table.revokedAt} is null`),
    check(
      'api_keys_material',
      sql`case ${table.kind} when 'hmac' then ${table.secretSealed} is not null and ${table.publicKeyPem} is null else ${table.publicKeyPem} is not null and ${table.secretSealed} is null end`,
    ),
  ],
)

/** Access tokens of API keys and key-signed tokens that were revoked alone (RFC 7009), until they expire. */
export const endedTokens = authSchema.table(
  'ended_tokens',
  {
    /** The claim `jti`, or the id of a key-signed token. */
    id: uuid().primaryKey(),
    /** No foreign key: the row stays when the user is deleted, until the token expires. */
    userId: uuid('user_id').notNull(),
    endedAt: time('ended_at').notNull(),
    expiresAt: time('expires_at').notNull(),
  },
  (table) => [
    index('ended_tokens_user_id').on(table.userId, table.expiresAt),
    index('ended_tokens_expires_at').on(table.expiresAt),
  ],
)

/** The data of users for HTTP Digest (RFC 7616 §3.4.2, §3.4.4), which do not depend on the password. */
export const digestSecrets = authSchema.table(
  'digest_secrets',
  {
    userId: ofUser().primaryKey(),
    usernameFolded: ofPrincipal(),
    /** SHA-256 (hex) of `username:realm:secret`, encrypted. */
    ha1Sealed: text('ha1_sealed').notNull(),
    /** SHA-256 (hex) of `username:realm`. */
    userhash: text().notNull(),
    updatedAt: time('updated_at').notNull(),
  },
  (table) => [unique('digest_secrets_userhash').on(table.userhash)],
)

/** One-time links for forgotten passwords. One row for each user at most: a new link replaces the former. */
export const passwordResets = authSchema.table(
  'password_resets',
  {
    userId: ofUser().primaryKey(),
    /** SHA-256 (base64url) of the code. */
    codeHash: text('code_hash').notNull(),
    /** The credential generation when the link was made. The link ends with it. */
    generation: integer().notNull(),
    createdAt: time('created_at').notNull(),
    expiresAt: time('expires_at').notNull(),
  },
  (table) => [
    unique('password_resets_code_hash').on(table.codeHash),
    index('password_resets_expires_at').on(table.expiresAt),
  ],
)

/** Signatures that were used (`shared/protocol/authentication/credential-tables.ts`). */
export const usedSignatures = usedSignaturesTable(authSchema)

/** Used counts of Digest nonces (`shared/protocol/authentication/credential-tables.ts`). */
export const digestCounts = digestCountsTable(authSchema)
