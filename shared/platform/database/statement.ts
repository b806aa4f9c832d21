/**
 * Statements that Drizzle writes and `query` and `write` send. They name tables and columns through the schema, so the
 * compiler finds every place that a renamed column has. Hot ones are written once, when their file is loaded, and take
 * named parameters.
 */
import { type Column, getTableColumns, is, Placeholder, type Query, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { PgDialect, type PgTable } from 'drizzle-orm/pg-core'
import { drizzle } from 'drizzle-orm/pg-proxy'
import type { Drizzle, Parameter, Statement } from './database.ts'

const dialect = new PgDialect()

/** The query builder without a database: what it builds is for `sqlTextOf` and `statementOf`. */
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
export function sqlTextOf(statement: SQLWrapper): string {
  const [text, parameters] = statementOf(statement)
  if (parameters.length > 0) throw new TypeError(`a statement has a value where its text belongs: ${text}`)
  return text
}

/** The types of parameters in SQL, and what each of them takes. */
interface ParameterTypes {
  readonly text: string
  readonly uuid: string
  /** RFC 3339. */
  readonly timestamptz: string
  readonly json: object
  readonly smallint: number
  readonly int: number
  readonly bigint: number | string
  readonly boolean: boolean
  readonly 'uuid[]': readonly string[]
  readonly 'bigint[]': readonly number[]
}

type Type = keyof ParameterTypes

type ValueOf<Declared> = Declared extends Type
  ? ParameterTypes[Declared]
  : Declared extends `${infer Nullable extends Type} | null`
    ? ParameterTypes[Nullable] | null
    : never

type Types = Readonly<Record<string, Type | `${Type} | null`>>

/** The parameters of a statement in its SQL, and the statement over them. */
type DeclaredParameters<Declared extends Types> = Readonly<Record<keyof Declared, SQL>> & {
  /** Writes the statement. @throws TypeError when it has other parameters, or a value */
  statement(written: SQLWrapper): (values: { readonly [Name in keyof Declared]: ValueOf<Declared[Name]> }) => Statement
}

/**
 * Parameters with these names and types, such as `uuid` or `uuid | null`. A statement may use one several times: it is
 * sent once.
 */
export function parameters<const Declared extends Types>(types: Declared): DeclaredParameters<Declared> {
  const declared = Object.entries(types)
  const names = declared.map(([name]) => name)
  const inSql = declared.map(([name, type]) => {
    const cast = type.startsWith('text') ? '' : `::${type.replace(' | null', '')}`
    return [name, sql`${sql.placeholder(name)}::text${sql.raw(cast)}`] as const
  })
  return Object.assign(Object.fromEntries(inSql) as Record<keyof Declared, SQL>, {
    statement: (written: SQLWrapper) => {
      const { sql: text, params }: Query = dialect.sqlToQuery(written.getSQL())
      const numbers = params.map((parameter) => (is(parameter, Placeholder) ? names.indexOf(parameter.name) + 1 : 0))
      const isDeclared = !numbers.includes(0) && new Set(numbers).size === names.length
      if (!isDeclared) throw new TypeError(`a statement has other parameters than ${names.join(', ')}: ${text}`)
      const numbered = text.replace(/\$(\d+)/g, (_, place: string) => `$${numbers[Number(place) - 1]}`)
      return (values: Readonly<Record<string, Parameter | object>>): Statement => [
        numbered,
        declared.map(([name, type]) => parameterOf(values[name] ?? null, type)),
      ]
    },
  })
}

const parameterOf = (value: Parameter | object, type: string): Parameter => {
  if (typeof value !== 'object' || value === null) return value
  return type.startsWith('json') ? JSON.stringify(value) : `{${String(value)}}`
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
