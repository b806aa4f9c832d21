/**
 * The users who need a second factor (docs/contract/logins.md#second-factor): users with a role or a direct right that
 * demands one (`demand.ts`), and users who have set one up.
 */
import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { u } from '../store/aliases.ts'
import { principalChangeCounter } from '../store/schema.ts'
import { secondFactors } from '../store/second-factor-tables.ts'

const d = alias(principalChangeCounter, 'd')
const s = alias(secondFactors, 's')

/** SQL condition on a row `u` of auth.users: it needs a second factor. */
export const demandSql: SQL = sql`(${u.roles} && (select ${d.demandingRoles} from ${principalChangeCounter} ${d})
  or ${u.rights} && (select ${d.demandingRights} from ${principalChangeCounter} ${d})
  or exists (select 1 from ${secondFactors} ${s} where ${s.userId} = ${u.id}))`
