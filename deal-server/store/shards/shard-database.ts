/**
 * A shard as a database. PL/Proxy leads calls of functions to shards and nothing else, so each statement is an argument
 * of the function `deals.on_shard` (docs/sharding.md), which runs it there, as a transaction of its own.
 */
import { type SQL, sql } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import { drizzle as drizzleOver } from 'drizzle-orm/pg-proxy'
import {
  type Database,
  DatabaseError,
  type Drizzle,
  type Parameter,
  parameterText,
} from '../../../shared/platform/database/database.ts'
import { unavailable } from '../../../shared/platform/database/driver-errors.ts'
import { translateErrors } from '../../../shared/platform/database/translated-drizzle.ts'
import type { DealDatabase } from '../deals.ts'

/** The database that leads to all shards. */
export type LeadingDatabase = Pick<Database, 'query' | 'write' | 'readWithin'>

/** One shard. */
export interface ShardDatabase extends DealDatabase {
  /** A query builder for statements that write; it has no transactions. */
  readonly writes: Drizzle
}

const callStatement = 'select found as row from deals.on_shard($1::text::int, $2::text, $3::text) found'

interface CallRow {
  readonly row: object
}

/** The shards behind a database, in their order. */
export const shardDatabases = (leading: LeadingDatabase, shards: number): ShardDatabase[] =>
  Array.from({ length: shards }, (_, shard) => shardDatabase(leading, shard))

function shardDatabase(leading: LeadingDatabase, shard: number): ShardDatabase {
  const call =
    (run: (text: string, parameters: Parameter[]) => Promise<CallRow[]>) =>
    async <Row extends object>(text: string, parameters: readonly Parameter[] = []): Promise<Row[]> => {
      const rows = await run(callStatement, [shard, templateOf(text), textOf(parameters)]).catch(unlessAway(shard))
      return rows.map(({ row }) => row as Row)
    }
  const query: DealDatabase['query'] = call((...statement) => leading.query<CallRow>(...statement))
  const write: DealDatabase['write'] = call((...statement) => leading.write<CallRow>(...statement))
  return {
    query,
    write,
    drizzle: builderOver(query),
    writes: builderOver(write),
    readWithin: async <Row extends object>(statement: SQL, timeoutMs: number) => {
      const { sql: text, params } = dialect.sqlToQuery(statement)
      const onShard = sql`select found as row from deals.on_shard(${String(shard)}::text::int,
        ${templateOf(text)}::text, ${textOf(params as Parameter[])}::text) found`
      const rows = await leading.readWithin<CallRow>(onShard, timeoutMs).catch(unlessAway(shard))
      return rows.map(({ row }) => row as Row)
    },
  }
}

const dialect = new PgDialect()

/** `$1` becomes `%1$L`: on the shard, `format` of PostgreSQL writes the parameter as a literal. */
const templateOf = (text: string): string => text.replaceAll('%', '%%').replace(/\$(\d+)/g, '%$1$$L')

const textOf = (parameters: readonly Parameter[]): string => JSON.stringify(parameters.map(parameterText))

/** Drizzle's driver for rows from elsewhere takes them as arrays: the columns of a statement need different names. */
const builderOver = (run: DealDatabase['query']): Drizzle =>
  translateErrors(
    drizzleOver(async (text, parameters: Parameter[], method) => {
      const rows = await run<object>(text, parameters)
      return { rows: method === 'all' ? rows.map((row) => Object.values(row)) : rows }
    }) as unknown as Drizzle,
  )

/** PL/Proxy has no SQLSTATE of its own for a shard that it cannot reach, or that it lost in the middle. */
const unlessAway =
  (shard: number) =>
  (error: unknown): never => {
    const isAway = error instanceof DatabaseError && error.sqlState === 'XX000'
    throw isAway ? unavailable(`XX000 shard ${shard} does not answer, or deals.on_shard does not lead there`) : error
  }
