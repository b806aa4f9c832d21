/**
 * The rows of CSV (RFC 4180), and of what people and spreadsheets take for it: a first line `sep=;`, a quote inside a
 * cell without quotes, blanks around a cell in quotes, thousands of empty columns at the right.
 */
import { Readable } from 'node:stream'
import { parse } from 'csv-parse'
import { maxColumns } from './columns.ts'

/** A row of CSV. */
export interface CsvRow {
  readonly cells: readonly string[]
  /** The line of the file where the row ends. */
  readonly line: number
  /** True when nothing is in it, in however many cells. */
  readonly isEmpty: boolean
  /** True when its quotes can be read in several ways. The cells are then as they stand in the file. */
  readonly isUnclear: boolean
  /** True when the file ends in this row, without a line break: it may be cut off. */
  readonly isLast: boolean
}

/** A longer row is no deal: it comes from quotes that are not closed, or from another kind of file. */
const maxRowBytes = 1024 * 1024

/** The first line that Excel takes for the name of the delimiter, and how much text has it. */
const separatorLine = /^"?sep=([^"\r\n])"?[\r\n]/i
const separatorLength = 9

/** What the parser gives. `raw` is the row as it stands in the file. */
interface Parsed {
  readonly record: readonly string[]
  readonly raw: string
  readonly info: { readonly lines: number }
}

/** The rows but for empty lines. The delimiter is that of a first line `sep=;` where there is one. @throws CsvError */
export async function* csvRows(texts: AsyncIterator<string>, delimiter: string): AsyncGenerator<CsvRow> {
  let [begin, end] = ['', '']
  while (begin.length < separatorLength) {
    const { value, done } = await texts.next()
    if (done) break
    begin += value
  }
  async function* whole() {
    for (let text = begin; ; ) {
      yield text
      end = text.at(-1) ?? end
      const { value, done } = await texts.next()
      if (done) return
      text = value
    }
  }
  const named = separatorLine.exec(begin)?.[1]
  const parser = parserOf(named ?? delimiter, named === undefined ? 1 : 2)
  const source = Readable.from(whole())
  source.on('error', (error) => parser.destroy(error))
  source.pipe(parser)
  let row: CsvRow | undefined
  for await (const parsed of parser as AsyncIterable<Parsed>) {
    if (row) yield row
    row = rowOf(parsed, { delimiter: named ?? delimiter, before: row })
  }
  if (row) yield { ...row, isLast: end !== '\n' && end !== '\r' }
}

const parserOf = (delimiter: string, firstLine: number) =>
  parse({
    delimiter,
    info: true,
    raw: true,
    from_line: firstLine,
    relax_column_count: true,
    skip_empty_lines: true,
    // A quote inside a cell is an inch sign. Blanks may be before the quote at which a cell begins.
    relax_quotes: true,
    ltrim: true,
    max_record_size: maxRowBytes,
    // All cells from here on are one: the first line of another kind of file may have a million.
    ignore_last_delimiters: maxColumns + 1,
    // Looking for the line break that a file uses is slow in a long first line.
    record_delimiter: ['\r\n', '\n', '\r'],
  })

interface RowParts {
  readonly delimiter: string
  readonly before: CsvRow | undefined
}

function rowOf({ record, raw, info: { lines: line } }: Parsed, { delimiter, before }: RowParts): CsvRow {
  const read = record.map((cell) => clearCell(cell, raw, before?.isUnclear === true))
  const clear = read.map((cell, index) => cell ?? record[index] ?? '')
  // A spreadsheet may write all of its 16,384 columns.
  const hasEmptyRest = clear[maxColumns]?.replaceAll(delimiter, '').trim() === ''
  const first = hasEmptyRest ? clear.slice(0, maxColumns) : clear
  const isEmpty = first.every((cell) => cell.trim() === '')
  return { cells: isEmpty ? clear : first, line, isEmpty, isUnclear: read.includes(undefined), isLast: false }
}

/** A cell, without quotes that blanks follow. Undefined when its quotes can be read in several ways. */
function clearCell(cell: string, raw: string, isBehindUnclear: boolean): string | undefined {
  if (!cell.includes('"') || raw.includes(`"${cell.replaceAll('"', '""')}"`)) return cell
  // The parser has left the quotes as they are, because they are not around the cell.
  if (cell.startsWith('"')) return /^"([^"]*)"[ \t]*$/.exec(cell)?.[1]
  return isBehindUnclear ? undefined : cell
}
