/** SQL conditions on logins: whether their users and principals accept them. */
import { type SQL, sql } from 'drizzle-orm'
import { demandSql } from '../principals/demand-sql.ts'
import { f, p, type s, u } from '../store/aliases.ts'

/** User `u` is enabled, and principal `p` accepts the generation of this family or session. */
export const acceptedSqlOf = (login: typeof f | typeof s): SQL => sql`${u.enabled} and ${p.userId} = ${login.userId}
  and (${login.generation} = ${p.generation}
    or coalesce(${p.keptLoginId} = ${login.id}::text and ${p.keptLoginGeneration} = ${login.generation}, false))`

/** The same of family `f`, which has a second factor if there is a demand for one. */
export const acceptedFamilySql: SQL = sql`${acceptedSqlOf(f)} and (${f.secondFactor} is not null or not ${demandSql})`
