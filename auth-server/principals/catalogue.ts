/**
 * Reads the catalogue from the database. A request reads its version with the facts of its caller; the catalogue of
 * that version is remembered.
 */
import { eq, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { createMemo } from '../../shared/platform/cache/memo.ts'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import { sqlTextOf } from '../../shared/platform/database/statement.ts'
import { type Catalogue, catalogueName } from '../../shared/protocol/principal/catalogue.ts'
import { accessRights, roles } from '../store/access-tables.ts'
import { l, p } from '../store/aliases.ts'
import { clients, endedClients } from '../store/client-tables.ts'
import { principals } from '../store/schema.ts'
import { adminRole } from './rights.ts'

const r = alias(accessRights, 'r')
const o = alias(roles, 'o')
const k = alias(principals, 'k')
const e = alias(endedClients, 'e')

/** SQL condition on a row `p` of auth.principals: it is the one of the catalogue. */
export const isCatalogueSql = sql`${p.usernameFolded} = ${sql.raw(`'${catalogueName}'`)}`
const isAdmin = sql`${o.name} = ${sql.raw(`'${adminRole}'`)}`

/** SQL for the `Catalogue` as JSON, with the version of a row `p` of auth.principals. `admin` has all rights. */
export const catalogueSql: SQL = sql`json_build_object('schema', 1, 'version', ${p.principalVersion},
  'rights', coalesce((select json_agg(json_build_object('name', ${r.name}, 'resourceServer', ${r.resourceServer},
    'readsOnly', ${r.readsOnly}, 'since', ${r.since}) order by ${r.position}) from ${accessRights} ${r}), '[]'),
  'roles', coalesce((select json_agg(json_build_object('name', ${o.name}, 'since', ${o.since},
    'rights', case when ${isAdmin} then (select coalesce(json_agg(${r.name} order by ${r.position}), '[]')
      from ${accessRights} ${r}) else to_json(${o.rights}) end) order by ${o.position}) from ${roles} ${o}), '[]'),
  'endedClients', coalesce((select json_agg(json_build_object('id', ${e.id},
    'until', ceil(extract(epoch from ${e.expiresAt}))::bigint) order by ${e.id})
    from ${endedClients} ${e} where ${e.expiresAt} > now()), '[]'),
  'proposingClients', coalesce((select json_agg(${l.id} order by ${l.id})
    from ${clients} ${l} where ${l.mode} = 'propose'), '[]'))`

/** SQL for what a row `p` is stored as: the catalogue for its own row, else `facts`. */
export const catalogueOr = (facts: SQL): SQL => sql`case when ${isCatalogueSql} then ${catalogueSql} else ${facts} end`

/** SQL for the version of the catalogue. */
export const catalogueVersionSql: SQL = sql`(select ${k.principalVersion} from ${principals} ${k}
  where ${k.usernameFolded} = ${sql.raw(`'${catalogueName}'`)})`

const readSql = sqlTextOf(sql`select ${catalogueSql} as catalogue from ${principals} ${p} where ${isCatalogueSql}`)

const versionSql = sqlTextOf(sql`select ${catalogueVersionSql}::text as version`)

/** Reads it. @throws Unavailable */
export async function readCatalogue(database: Pick<Database, 'query'>): Promise<Catalogue> {
  return required(await database.query<{ catalogue: Catalogue }>(readSql))
}

/** Reads it inside a transaction. */
export async function catalogueIn(transaction: Drizzle): Promise<Catalogue> {
  const catalogue = sql<Catalogue>`${catalogueSql}`
  return required(await transaction.select({ catalogue }).from(p).where(eq(p.usernameFolded, catalogueName)))
}

function required([row]: readonly { readonly catalogue: Catalogue }[]): Catalogue {
  if (!row) throw new TypeError('auth.principals has no row of the catalogue: the migrations have not all been applied')
  return row.catalogue
}

/** The catalogues of one process. */
export type Catalogues = ReturnType<typeof createCatalogues>

/** Creates them. The latest two are remembered. All throw Unavailable. */
export function createCatalogues(database: Pick<Database, 'query'>) {
  const known = createMemo<Catalogue>({ maxEntries: 2, maxBytes: 8_000_000 })
  const load = async (version: string) => {
    const catalogue = await known.load(version, () => readCatalogue(database))
    if (!catalogue) throw new TypeError('a load of the catalogue gave none')
    return catalogue
  }
  const at = (version: string) => known.peek(version) ?? load(version)
  return {
    /** The catalogue of this version, or a newer one. */
    at: (version: number) => at(String(version)),
    /** The catalogue as the database has it now. */
    latest: async () => {
      const [row] = await database.query<{ version: string | null }>(versionSql)
      return at(row?.version ?? '')
    },
    /** Forgets what was read from another database. */
    clear: () => known.clear(),
  }
}
