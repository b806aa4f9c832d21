/**
 * Clients: applications that sign people in (docs/contract/sign-in.md), what users let them do, and requests of
 * devices. There is no table of authorization requests and codes: they are sealed (`oauth/authorization/`).
 */
import { sql } from 'drizzle-orm'
import { boolean, check, index, integer, primaryKey, text, timestamp, unique, uuid } from 'drizzle-orm/pg-core'
import { authSchema, ofUser } from './schema.ts'

const time = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'date' })

/** The clients. The row `:catalogue` in `principals` is their lock, as of services. */
export const clients = authSchema.table(
  'clients',
  {
    /** The parameter `client_id`. */
    id: uuid().primaryKey(),
    name: text().notNull(),
    kind: text('kind', { enum: ['public', 'confidential'] }).notNull(),
    /** True: users are not asked for their consent. */
    firstParty: boolean('first_party').notNull(),
    redirectUris: text('redirect_uris').array().notNull(),
    postLogoutRedirectUris: text('post_logout_redirect_uris').array().notNull(),
    /** The rights that its tokens may have, of those that the user has; null: all, of a first-party client. */
    rights: text().array(),
    /** Ids of the resource servers that its tokens may be for. */
    resourceServers: text('resource_servers').array().notNull(),
    /** The right that a user needs to sign in to it; null: none. */
    needsRight: text('needs_right'),
    requirePkce: boolean('require_pkce').notNull(),
    /** `propose`: commands on deals that it sends wait until somebody approves them. The catalogue announces it. */
    mode: text('mode', { enum: ['run', 'propose'] })
      .notNull()
      .default('run'),
    /** The secret, encrypted; null for a public client, and for one with a key. */
    secretSealed: text('secret_sealed'),
    /** The secret before the last rotation, which is accepted until `former_until`. */
    formerSecretSealed: text('former_secret_sealed'),
    formerUntil: time('former_until'),
    /** The key of `private_key_jwt`: SPKI PEM. */
    publicKeyPem: text('public_key_pem'),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at').notNull(),
    /** The last use, which moves in coarse steps. */
    lastUsedAt: time('last_used_at'),
  },
  (table) => [
    unique('clients_name').on(table.name),
    check('clients_former', sql`(${table.formerSecretSealed} is null) = (${table.formerUntil} is null)`),
    check(
      'clients_material',
      sql`case ${table.kind} when 'public' then ${table.secretSealed} is null and ${table.publicKeyPem} is null else (${table.secretSealed} is null) <> (${table.publicKeyPem} is null) end`,
    ),
    check('clients_rights', sql`${table.firstParty} or ${table.rights} is not null`),
    check('clients_mode', sql`${table.mode} in ('run', 'propose')`),
    check('clients_pkce', sql`${table.requirePkce} or ${table.kind} = 'confidential'`),
  ],
)

/** Deleted clients, as long as an access token of theirs may be alive. The catalogue announces them. */
export const endedClients = authSchema.table(
  'ended_clients',
  {
    id: uuid().primaryKey(),
    /** When the last of its access tokens has expired. */
    expiresAt: time('expires_at').notNull(),
  },
  (table) => [index('ended_clients_expires_at').on(table.expiresAt)],
)

/** What users let clients of other parties do. */
export const consents = authSchema.table(
  'consents',
  {
    userId: ofUser().notNull(),
    clientId: uuid('client_id')
      .notNull()
      .references(() => clients.id, { onDelete: 'cascade' }),
    rights: text().array().notNull(),
    /** Scopes of OpenID Connect. */
    scopes: text().array().notNull(),
    grantedAt: time('granted_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.userId, table.clientId] }), index('consents_client_id').on(table.clientId)],
)

/** Requests of devices (RFC 8628), until they expire. */
export const deviceRequests = authSchema.table(
  'device_requests',
  {
    id: uuid().primaryKey(),
    /** SHA-256 (base64url) of the user code. */
    userCodeHash: text('user_code_hash').notNull(),
    /** The parameter `client_id`: the id of a client, or `keyhold-cli`. */
    clientId: text('client_id').notNull(),
    /** Null: all rights of the user. */
    rights: text().array(),
    scopes: text().array().notNull(),
    /** Null: that of the pair. */
    audience: text(),
    createdAt: time('created_at').notNull(),
    expiresAt: time('expires_at').notNull(),
    polledAt: time('polled_at'),
    /** In seconds. It grows when the device polls too fast. */
    interval: integer().notNull(),
    state: text('state', { enum: ['pending', 'approved', 'denied', 'taken'] }).notNull(),
    /** The session that approved it. */
    sessionId: uuid('session_id'),
    clientAddress: text('client_address').notNull(),
  },
  (table) => [
    unique('device_requests_user_code_hash').on(table.userCodeHash),
    index('device_requests_expires_at').on(table.expiresAt),
  ],
)
