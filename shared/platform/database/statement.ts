/**
 * Statements that Drizzle writes and `query` and `write` send. They name tables and columns through the schema, so the
 * compiler finds every place that a renamed column has. Hot ones are written once, when their file is loaded: their
 * parameters are `$1`, `$2` and so on.
 */
import { type Column, getTableColumns, type Query, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { PgDialect, type PgTable } from 'drizzle-orm/pg-core'
import { drizzle } from 'drizzle-orm/pg-proxy'
import type { Drizzle, Parameter } from './database.ts'

const dialect = new PgDialect()

/** The query builder without a database: what it builds is for `textOf` and `statementOf`. */
export const build: Drizzle = drizzle(() => Promise.reject(new TypeError('a statement was built, and never sent')))

/** A statement with values: its text and its parameters, for `query` and `write`. */
export function statementOf(statement: SQLWrapper): [text: string, parameters: Parameter[]] {
  const { sql: text, params }: Query = dialect.sqlToQuery(statement.getSQL())
  return [text, params as Parameter[]]
}

/**
 * The text of a statement without values. @throws TypeError for a value in it, which would take the place of a
 * parameter: write `sql.raw` around a number
 */
export function textOf(statement: SQLWrapper): string {
  const [text, parameters] = statementOf(statement)
  if (parameters.length > 0) throw new TypeError(`a statement has a value where its text belongs: ${text}`)
  return text
}

type Columns<Table extends PgTable> = Table['_']['columns']

/** A row of a table as `to_json` writes it: members have the names of columns, and times are text. */
export type JsonRow<Table extends PgTable> = {
  readonly [Member in keyof Columns<Table> as Columns<Table>[Member]['_']['name']]:
    | Columns<Table>[Member]['_']['data']
    | (Columns<Table>[Member]['_']['notNull'] extends true ? never : null)
}

/** The names of columns, where SQL wants no table before them: in the list of an insert, and behind `set`. */
export const namesOf = <Table extends PgTable>(
  table: Table,
  ...members: readonly (keyof Columns<Table> & string)[]
): SQL => {
  const columns: Readonly<Record<string, Column>> = getTableColumns(table)
  return sql.join(
    members.map((member) => sql.identifier(columns[member]?.name ?? member)),
    sql`, `,
  )
}
