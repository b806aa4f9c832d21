/** Bodies of answers as people read them. */
import { printable } from '../../shared/platform/terminal/printable.ts'
import { columns, fields } from '../../shared/platform/terminal/tables.ts'

type Members = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null

/** The items of a list, which is an array or a page of one; undefined for every other body. */
export function itemsOf(body: unknown): readonly unknown[] | undefined {
  if (Array.isArray(body)) return body
  return isObject(body) && Array.isArray(body.items) ? body.items : undefined
}

/** A list as a table, an object as a line for each member. The names are those of the API. */
export function bodyText(body: unknown): string {
  const items = itemsOf(body)
  if (items) return items.length === 0 ? 'There are none.' : tableOf(items)
  if (!isObject(body)) return printable(String(body))
  const members = Object.entries(body)
  const lines = fields(members.filter(([, value]) => !isPem(value)).map(([name, value]) => [name, cellOf(value)]))
  return [lines, ...members.flatMap(([name, value]) => (isPem(value) ? [printable(name), value.trimEnd()] : []))].join(
    '\n',
  )
}

/** A key, which is of use with its line breaks alone (RFC 7468). */
const isPem = (value: unknown): value is string =>
  typeof value === 'string' && /^-----BEGIN [A-Z ]+-----\n[A-Za-z0-9+/=\n]+\n-----END [A-Z ]+-----\n?$/.test(value)

function tableOf(items: readonly unknown[]): string {
  const rows = items.map((item) => (isObject(item) && !Array.isArray(item) ? item : { value: item }))
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  return columns(
    names,
    rows.map((row) => names.map((name) => cellOf(row[name]))),
  )
}

function cellOf(value: unknown): string {
  if (Array.isArray(value) && !value.some(isObject)) return value.map(String).join(', ') || '-'
  return isObject(value) ? JSON.stringify(value) : String(value ?? '-')
}
