import { sql } from 'drizzle-orm'
import type { Database } from '../../shared/platform/database/database.ts'
import { parameters } from '../../shared/platform/database/statement.ts'
import { createAudience, isAudience, type NamedAudience } from '../../shared/protocol/authentication/audience.ts'
import { ownResourceServer } from '../principals/rights.ts'
import { accessRights, resourceServers } from '../store/access-tables.ts'
import { r } from '../store/aliases.ts'

/** A resource server other than that of the pair. */
export interface OtherServer {
  readonly id: string
  readonly audience: string
  /** The names of its rights. */
  readonly rights: readonly string[]
}

/** The audiences of what is issued here. */
export type Audiences = ReturnType<typeof createAudiences>

/**
 * Creates the audiences over this database. The pair has one (AUDIENCE), which the origins of the pair are names of
 * too, and each other resource server has one. All functions throw Unavailable.
 */
export function createAudiences(
  settings: { readonly audience: string; readonly publicOrigins: Readonly<Record<string, string>> },
  database: Database,
) {
  const own = createAudience(settings.audience, { isOfPair: true })
  const ownNames = new Set([own.name, ...Object.values(settings.publicOrigins).flatMap((url) => [url, `${url}/`])])
  const find = async (sql: typeof byNameSql, value: string): Promise<OtherServer | undefined> =>
    (await database.query<OtherServer>(...sql({ value })))[0]
  // PostgreSQL refuses NUL.
  const byName = async (name: string) => (name.includes('\0') ? undefined : find(byNameSql, name))
  /** As `choose`, with the rights of the resource server. */
  const chooseServer = async (resource: string | undefined): Promise<OtherServer | null | undefined> =>
    resource === undefined || ownNames.has(resource) ? null : byName(resource)
  return {
    chooseServer,
    /**
     * The audience that the parameter `resource` of a request chooses (RFC 8707 §2). Null: that of the pair, also
     * without `resource`. Undefined: no resource server has this audience.
     */
    choose: async (resource: string | undefined): Promise<string | null | undefined> => {
      const server = await chooseServer(resource)
      return server === null ? null : server?.audience
    },
    /** The name of the audience that a credential names; undefined when no resource server has it any more. */
    nameOf: async (named: NamedAudience): Promise<string | undefined> => {
      if (named === null || isAudience(own, named)) return own.name
      if (typeof named === 'string') return (await byName(named))?.audience
      return Buffer.isBuffer(named) ? (await find(byDigestSql, named.toString('hex')))?.audience : undefined
    },
  }
}

/** The row of the pair does not count: its audience is the setting. */
const others = sql`select ${r.id}, ${r.audience}, to_json(array(select ${accessRights.name} from ${accessRights}
  where ${accessRights.resourceServer} = ${r.id})) as rights from ${resourceServers} ${r}
  where ${r.id} <> ${sql.raw(`'${ownResourceServer}'`)}`

const chosen = parameters({ value: 'text' })
const byNameSql = chosen.statement(sql`${others} and ${r.audience} = ${chosen.value}`)

/** By `audienceDigest`. */
const byDigestSql = chosen.statement(
  sql`${others} and substring(sha256(convert_to(${r.audience}, 'UTF8')) for 16) = decode(${chosen.value}, 'hex')`,
)
