/** Deals as rows of CSV, and refused rows of an import as a file that can be imported again. */
import { stringify } from 'csv-stringify/sync'
import { exportColumns, refusalColumns } from './columns.ts'
import type { Row } from './rows.ts'

/** A deal of a list. The price as text has the decimals of its currency. */
export interface ListedDeal extends Readonly<Record<string, unknown>> {
  readonly priceText: string
}

/** The options of `csv-stringify` that give an export its form. */
export const csvForm = ({ delimiter, escapesFormulas }: CsvForm) => ({
  columns: [...exportColumns],
  delimiter,
  // Without it, Excel takes the text for one of an older encoding.
  bom: escapesFormulas,
  escape_formulas: escapesFormulas,
  cast: { boolean: String },
})

interface CsvForm {
  readonly delimiter: string
  /** For a spreadsheet: a byte order mark, and an apostrophe before cells that would be taken for a formula. */
  readonly escapesFormulas: boolean
}

/** The cells of a deal by column. */
export const cellsOf = (deal: ListedDeal): Readonly<Record<string, unknown>> => ({ ...deal, price: deal.priceText })

/** Deals as lines of CSV. Only the start of a file has the header. */
export const csvOfDeals = (deals: readonly ListedDeal[], form: CsvForm, isBegin: boolean): string =>
  stringify(deals.map(cellsOf), { ...csvForm(form), header: isBegin, bom: isBegin && form.escapesFormulas })

/** Why a row was refused. */
export interface Refusal {
  readonly row: Row
  readonly status: number
  readonly code: string
  readonly reason: string
}

const names: readonly string[] = refusalColumns

/**
 * Refused rows as they were, with the reasons. `header` is that of their file; undefined for NDJSON. Only the start of
 * a file has the header.
 */
export const textOfRefusals = (
  refusals: readonly Refusal[],
  header: readonly string[] | undefined,
  isBegin: boolean,
): string => (header ? csvOf(refusals, header, isBegin) : ndjsonOf(refusals))

function csvOf(refusals: readonly Refusal[], header: readonly string[], isBegin: boolean): string {
  // The file may be one of refused rows itself.
  const kept = header.flatMap((name, index) => (names.includes(name) ? [] : [index]))
  const rows = refusals.map(({ row, status, code, reason }) => {
    const cells = typeof row.source === 'string' ? [row.source] : row.source
    return [...kept.map((index) => cells[index] ?? ''), row.line, status, code, reason]
  })
  const title = [...kept.map((index) => header[index] ?? ''), ...names]
  return stringify(isBegin ? [title, ...rows] : rows)
}

const ndjsonOf = (refusals: readonly Refusal[]): string =>
  refusals
    .map(({ row, ...why }) => {
      const members = JSON.stringify({ line: row.line, ...why })
      return `${members.slice(0, -1)},"row":${jsonOf(row)}}\n`
    })
    .join('')

/** What `ndjsonOf` puts around a line. */
const wrapped = /^\s*\{"line":\d+,"status":\d+,"code":"[^"]*","reason":"(?:[^"\\]|\\.)*","row":(\{.*\})\}\s*$/s

/** The line as it came, without the reasons of an earlier import; as a text when it is no JSON. */
function jsonOf({ source }: Row): string {
  const text = String(source)
  try {
    JSON.parse(text)
    return wrapped.exec(text)?.[1] ?? text.trim()
  } catch {
    return JSON.stringify(text)
  }
}
