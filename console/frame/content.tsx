/** Parts of pages: times, notices, facts, tables, pages of lists. */
import type { Child } from 'hono/jsx'
import type { Reader } from './reader.ts'

interface TimeProps {
  readonly time: string | null
  readonly reader: Reader
  /** What is shown in place of no time. */
  readonly none?: string
}

/** A time. With a script, browsers show it in the time zone of the reader. */
export function Time({ time, reader, none = '–' }: TimeProps) {
  if (time === null) return <span>{none}</span>
  return (
    <time datetime={time} data-local={reader.locale}>
      {reader.time(time)}
    </time>
  )
}

/** A message after something was done. */
export function Notice({ children }: { readonly children?: Child }) {
  return children ? (
    <p class="notice" role="status">
      {children}
    </p>
  ) : null
}

/** A title and a value. */
export type Fact = readonly [title: string, value: Child]

/** What there is to say of something. Facts whose value is missing or empty are left out. */
export const Facts = ({ facts }: { readonly facts: readonly Fact[] }) => (
  <dl class="facts">
    {facts
      .filter(([, value]) => value != null && value !== '')
      .map(([title, value]) => (
        <>
          <dt>{title}</dt>
          <dd>{value}</dd>
        </>
      ))}
  </dl>
)

/** A column of a table. */
export interface Column<Row> {
  readonly title: string
  /** Numbers are at the right. */
  readonly isNumber?: boolean
  /** Short texts, such as days, stay on one line. */
  readonly isShort?: boolean
  /** Makes the title a link that sorts the list by this column. Narrow screens do not show it. */
  readonly sort?: { readonly href: string; readonly direction: 'ascending' | 'descending' | undefined }
  cell(row: Row): Child
}

interface TableProps<Row> {
  /** For screen readers: what the table lists. */
  readonly caption: string
  /** The first column names the row. */
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** Shown when there are no rows. */
  readonly empty?: string
  /** Each row begins with a checkbox, which this names. */
  readonly select?: (row: Row) => { readonly name: string; readonly value: string; readonly label: string }
}

/** A table. On narrow screens, each row becomes a block in which every value has the title of its column. */
export function Table<Row>({ caption, columns, rows, empty = 'There is nothing here.', select }: TableProps<Row>) {
  if (rows.length === 0) return <p class="empty">{empty}</p>
  return (
    // Explicit roles: the table stays one when a narrow screen shows its rows as blocks.
    <table class="list" role="table">
      <caption class="unseen">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {select && (
            <th scope="col" role="columnheader" class="pick" data-select-all="Select all on this page">
              <span class="unseen">Select</span>
            </th>
          )}
          {columns.map((column) => (
            <Title column={column} />
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr role="row">
            {select && <Pick {...select(row)} />}
            {columns.map((column, index) => (
              <Cell column={column} row={row} isFirst={index === 0} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Title<Row>({ column: { title, isNumber, sort } }: { readonly column: Column<Row> }) {
  return (
    <th scope="col" role="columnheader" class={isNumber ? 'number' : undefined} aria-sort={sort?.direction}>
      {sort === undefined ? (
        title
      ) : (
        <a href={sort.href}>
          {title}
          {sort.direction && <span aria-hidden="true">{sort.direction === 'ascending' ? ' ↑' : ' ↓'}</span>}
        </a>
      )}
    </th>
  )
}

function Pick({ name, value, label }: { readonly name: string; readonly value: string; readonly label: string }) {
  return (
    <td role="cell" class="pick" data-title="Select">
      <input type="checkbox" name={name} value={value} aria-label={label} />
    </td>
  )
}

interface CellProps<Row> {
  readonly column: Column<Row>
  readonly row: Row
  readonly isFirst: boolean
}

function Cell<Row>({ column, row, isFirst }: CellProps<Row>) {
  const look = column.isNumber ? 'number' : column.isShort ? 'short' : undefined
  const parts = { 'data-title': column.title, class: look }
  return isFirst ? (
    <th scope="row" role="rowheader" {...parts}>
      {column.cell(row)}
    </th>
  ) : (
    <td role="cell" {...parts}>
      {column.cell(row)}
    </td>
  )
}

interface PagerProps {
  readonly path: string
  readonly query: URLSearchParams
  readonly nextCursor: string | null
}

/** Links to the first and the next page of a list: the query of the page with another `cursor`. */
export function Pager({ path, query, nextCursor }: PagerProps) {
  const first = new URLSearchParams(query)
  first.delete('cursor')
  const next = new URLSearchParams(first)
  if (nextCursor !== null) next.set('cursor', nextCursor)
  if (nextCursor === null && !query.has('cursor')) return null
  return (
    <nav class="pager" aria-label="Pages">
      {query.has('cursor') && <a href={`${path}?${first}`}>First page</a>}
      {nextCursor !== null && (
        <a rel="next" href={`${path}?${next}`}>
          Next page
        </a>
      )}
    </nav>
  )
}
