/**
 * What can be allowed: resource servers with their rights, roles, and the credentials of services. The catalogue of
 * rights and roles is announced as one record (`auth-server/access/`).
 */
import { sql } from 'drizzle-orm'
import { bigint, boolean, check, index, integer, text, timestamp, unique, uuid } from 'drizzle-orm/pg-core'
import { authSchema } from './schema.ts'

const time = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'date' })

/** The services whose rights are granted here (RFC 6749 §1.1: resource servers). `deals` is the pair itself. */
export const resourceServers = authSchema.table(
  'resource_servers',
  {
    id: text().primaryKey(),
    /** The claim `aud` of its tokens. Of `deals` it is AUDIENCE, which each start stores. */
    audience: text().notNull(),
    name: text().notNull(),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at').notNull(),
  },
  (table) => [
    unique('resource_servers_audience').on(table.audience),
    check('resource_servers_id_form', sql`${table.id} ~ '^[a-z0-9][a-z0-9-]{0,62}$'`),
  ],
)

/** The rights that can be granted. */
export const accessRights = authSchema.table(
  'rights',
  {
    name: text().primaryKey(),
    resourceServer: text('resource_server')
      .notNull()
      .references(() => resourceServers.id, { onDelete: 'cascade' }),
    description: text().notNull(),
    /** True for a right that only reads: `anonymous` can have no others. */
    readsOnly: boolean('reads_only').notNull(),
    /** The order of rights in records and lists. */
    position: integer().generatedByDefaultAsIdentity(),
    /**
     * The principal version at which it was made: a record of an earlier version has not this right, but one of the
     * same name that was withdrawn.
     */
    since: bigint({ mode: 'number' }).notNull().default(0),
  },
  (table) => [
    index('rights_resource_server').on(table.resourceServer),
    check('rights_name_form', sql`${table.name} ~ '^[a-z0-9-]+([.][a-z0-9-]+)+(:own)?$'`),
  ],
)

/** The roles. The role `admin` has all rights, whatever `rights` says. */
export const roles = authSchema.table(
  'roles',
  {
    name: text().primaryKey(),
    description: text().notNull(),
    rights: text().array().notNull(),
    /** The order of roles in lists. */
    position: integer().generatedByDefaultAsIdentity(),
    /** The principal version at which it was made, as of a right. */
    since: bigint({ mode: 'number' }).notNull().default(0),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at').notNull(),
  },
  (table) => [check('roles_name_form', sql`${table.name} ~ '^[a-z0-9][a-z0-9._-]{0,62}$'`)],
)

/** The credentials of services, each for one resource server. */
export const services = authSchema.table(
  'services',
  {
    /** Public: the name in HTTP Basic and `client_id` at `/oauth/token`. */
    id: uuid().primaryKey(),
    name: text().notNull(),
    resourceServer: text('resource_server')
      .notNull()
      .references(() => resourceServers.id, { onDelete: 'cascade' }),
    /** The secret, encrypted. */
    secretSealed: text('secret_sealed').notNull(),
    /** The secret before the last rotation, which is accepted until `former_until`. */
    formerSecretSealed: text('former_secret_sealed'),
    formerUntil: time('former_until'),
    createdAt: time('created_at').notNull(),
    /** The last use, which moves in coarse steps. */
    lastUsedAt: time('last_used_at'),
  },
  (table) => [
    index('services_resource_server').on(table.resourceServer),
    check('services_former', sql`(${table.formerSecretSealed} is null) = (${table.formerUntil} is null)`),
  ],
)
