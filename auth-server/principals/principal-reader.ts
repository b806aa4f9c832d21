/**
 * Reads principal records for requests: from the database at each request, so that nothing is stale. The reads of
 * concurrent requests are gathered: one statement for each batch, and one row for each user in it. A batch is read
 * after all its callers have asked.
 */
import { sql } from 'drizzle-orm'
import { type BoundedCache, createBoundedCache } from '../../shared/platform/cache/bounded-cache.ts'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { gatherStatements } from '../../shared/platform/database/gather-statements.ts'
import { parameters } from '../../shared/platform/database/statement.ts'
import type { Catalogue } from '../../shared/protocol/principal/catalogue.ts'
import { foldUsername, isUsername, type PrincipalRecord } from '../../shared/protocol/principal/record.ts'
import { withRights } from '../../shared/protocol/principal/with-rights.ts'
import { p } from '../store/aliases.ts'
import { principals } from '../store/schema.ts'
import { type Catalogues, catalogueVersionSql } from './catalogue.ts'
import { type PrincipalFacts, principalFactsSql, tokensAliveSince, toStoredPrincipal } from './principal-record.ts'

/** A user, and the catalogue by which the rights of the record are effective. */
export interface RecordInCatalogue {
  readonly record: PrincipalRecord
  readonly catalogue: Catalogue
}

/** Reads for requests. */
export type PrincipalReader = ReturnType<typeof createPrincipalReader>

/** Each name once. */
const read = parameters({ names: 'json', aliveSince: 'timestamptz' })
const recordsSql = read.statement(sql`select n.name, f.facts, ${catalogueVersionSql}::text as catalogue
  from json_array_elements_text(${read.names}) as n(name) cross join lateral (
    select ${principalFactsSql(read.aliveSince)}::text as facts from ${principals} ${p}
    where ${p.usernameFolded} = n.name limit 1) f`)

/** Bounds of the parsed records. */
const parsed = { maxEntries: 10_000, maxBytes: 32_000_000 }

/**
 * Parses facts and finds the rights. It remembers the latest result for each name: most reads of a user find the same
 * text under the same catalogue.
 */
function rememberParsed() {
  const tables = new WeakMap<Catalogue, BoundedCache<{ facts: string; record: PrincipalRecord }>>()
  const tableOf = (catalogue: Catalogue) => {
    const table = tables.get(catalogue) ?? createBoundedCache<{ facts: string; record: PrincipalRecord }>(parsed)
    tables.set(catalogue, table)
    return table
  }
  return function recordOf(name: string, facts: string, catalogue: Catalogue): PrincipalRecord {
    const known = tableOf(catalogue)
    const latest = known.get(name)
    if (latest?.facts === facts) return latest.record
    const record = withRights(toStoredPrincipal(JSON.parse(facts) as PrincipalFacts), catalogue)
    known.set(name, { facts, record })
    return record
  }
}

/** Creates the reader of one process, so that all its requests share the batches. Both functions throw Unavailable. */
export function createPrincipalReader(ports: {
  readonly database: Pick<Database, 'query'>
  readonly clock: Clock
  readonly catalogues: Pick<Catalogues, 'at'>
}) {
  const { database, clock, catalogues } = ports
  const recordOf = rememberParsed()
  const readOne = gatherStatements<string, RecordInCatalogue | undefined>({
    run: async (asked) => {
      type Row = { name: string; facts: string; catalogue: string }
      const names = [...new Set(asked)]
      const rows = await database.query<Row>(...recordsSql({ names, aliveSince: tokensAliveSince(clock.now()) }))
      const [first] = rows
      if (!first) return asked.map(() => undefined)
      const known = catalogues.at(Number(first.catalogue))
      const catalogue = known instanceof Promise ? await known : known
      const found = new Map(rows.map(({ name, facts }) => [name, recordOf(name, facts, catalogue)]))
      return asked.map((name) => {
        const record = found.get(name)
        return record && { record, catalogue }
      })
    },
  })
  /** The record and the catalogue by which its rights are effective; undefined when there never was such a user. */
  const inCatalogue = async (username: string) => (isUsername(username) ? readOne(foldUsername(username)) : undefined)
  return {
    inCatalogue,
    /** The record alone. */
    record: async (username: string) => (await inCatalogue(username))?.record,
  }
}
