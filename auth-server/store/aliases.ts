/** The tables of the auth server under the names that statements give them: `from ${users} ${u} where ${u.id} = …`. */
import { alias } from 'drizzle-orm/pg-core'
import { resourceServers } from './access-tables.ts'
import { clients } from './client-tables.ts'
import { apiKeys, loginFamilies, principalChangeCounter, principals, sessions, users } from './schema.ts'

/** A user. */
export const u = alias(users, 'u')
/** A principal. */
export const p = alias(principals, 'p')
/** The row that counts the changes of principals. */
export const c = alias(principalChangeCounter, 'c')
/** A refresh token family. */
export const f = alias(loginFamilies, 'f')
/** A session. */
export const s = alias(sessions, 's')
/** An API key. */
export const k = alias(apiKeys, 'k')
/** A resource server. */
export const r = alias(resourceServers, 'r')
/** A client. */
export const l = alias(clients, 'l')
