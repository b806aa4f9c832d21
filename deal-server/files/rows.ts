/** Reads the rows of a file: CSV, or NDJSON with a deal or a whole command in each line. */

import { hash } from 'node:crypto'
import { CsvError } from 'csv-parse'
import { linesOf, textsOf, UnreadableFile } from '../../shared/platform/files/lines.ts'
import { DoubledMember, parseJson } from '../../shared/platform/json.ts'
import { quoteOddAmounts } from '../domain/money.ts'
import { creationColumns, faultOfHeader, ignoredColumns, maxColumns, requiredColumns } from './columns.ts'
import { type CsvRow, csvRows } from './csv-rows.ts'

/** The form of a file. */
export type FileFormat = 'csv' | 'ndjson'

/** One command of a batch. */
export interface RowCommand {
  readonly id: string
  readonly action: string
  readonly [member: string]: unknown
}

/** A row of the file: a command to send, or the reason why it cannot be one. */
export interface Row {
  /** From 1, without the header and without rows in which nothing is. */
  readonly number: number
  /** The line of the file where the row ends. */
  readonly line: number
  /** As it is in the file: the cells of CSV, or the text of a line. */
  readonly source: readonly string[] | string
  readonly command: RowCommand | undefined
  /** Set when there is no command. */
  readonly fault?: string
}

/** How rows are read. */
export interface ReadOptions {
  readonly format: FileFormat
  readonly delimiter: string
  /** The start of the command ids of rows without an id of their own. */
  readonly key: string
  /** Called with the header of CSV, and for NDJSON with none. */
  readonly onHeader: (header: readonly string[] | undefined) => void
}

/** A longer line of NDJSON is no line of a batch either. It is parsed in one go. */
const maxLineLength = 64 * 1024

/** The rows in order. @throws UnreadableFile, NoText */
export function readRows(input: NodeJS.ReadableStream, options: ReadOptions): AsyncGenerator<Row> {
  return options.format === 'csv' ? readCsv(textsOf(input), options) : readNdjson(textsOf(input), options)
}

async function* readCsv(texts: AsyncGenerator<string>, { delimiter, key, onHeader }: ReadOptions): AsyncGenerator<Row> {
  let header: Header | undefined
  // Rows in which nothing is have a place too: the ids of the others stay.
  let [number, place] = [0, 0]
  try {
    for await (const row of csvRows(texts, delimiter)) {
      if (header) {
        place += 1
        if (row.isEmpty && (row.cells.length <= maxColumns || header.width === maxColumns)) continue
        number += 1
        yield { number, line: row.line, source: row.cells, ...commandOfCells(row, header, { number: place, key }) }
      } else {
        header = headerOf(row, delimiter)
        onHeader(header.names)
      }
    }
  } catch (error) {
    if (error instanceof CsvError) throw new UnreadableFile(`${error.message}.`)
    throw error
  }
  if (header === undefined) throw new UnreadableFile(faultOfHeader([], delimiter) ?? '')
}

const isBlank = (cell: string): boolean => cell.trim() === ''

/** The columns of a file. */
interface Header {
  /** Without those at the right that have no name. */
  readonly names: readonly string[]
  /** How many cells the first line has. */
  readonly width: number
}

function headerOf({ cells, isUnclear }: CsvRow, delimiter: string): Header {
  const all = cells.map((name) => name.trim())
  const names = all.slice(0, all.findLastIndex((name) => name !== '') + 1)
  const fault = isUnclear ? unclear : faultOfHeader(all.length > maxColumns ? all : names, delimiter)
  if (fault !== undefined) throw new UnreadableFile(fault)
  return { names, width: all.length }
}

interface CommandOf {
  readonly number: number
  readonly key: string
}

function commandOfCells(row: CsvRow, header: Header, of: CommandOf): Pick<Row, 'command' | 'fault'> {
  const fault = faultOfCells(row, header)
  if (fault !== undefined) return { command: undefined, fault }
  const wanted: readonly string[] = creationColumns
  const cells = header.names.map((name, index) => [name, row.cells[index]?.trim() ?? ''] as const)
  // An empty cell stands for no value.
  return {
    command: creation(Object.fromEntries(cells.filter(([name, cell]) => wanted.includes(name) && cell !== '')), of),
  }
}

const unclear = 'The quotes of the row can be read in several ways: a quote inside a cell in quotes is written twice.'

/** Why cells cannot be told to be those of the columns; undefined when they can. */
function faultOfCells({ cells, isUnclear, isLast }: CsvRow, { names, width }: Header): string | undefined {
  if (isUnclear) return unclear
  const surplus = cells.filter((cell, index) => !names[index] && !isBlank(cell)).join(' ')
  if (surplus === '' && (cells.length === width || (!isLast && isWhole(cells, names)))) return undefined
  const counts = cells.length === width ? [] : [`The row has ${cells.length} cells, the header ${width}.`]
  const text = surplus === '' ? [] : [`No column has ${JSON.stringify(surplus.slice(0, 200))}.`]
  return [...counts, ...text].join(' ')
}

/** True if a row that is shorter or longer than the header has what a deal needs, and no amount that a comma splits. */
function isWhole(cells: readonly string[], names: readonly string[]): boolean {
  const price = names.indexOf('price')
  const isSplit = /^\d+$/.test(cells[price] ?? '') && /^\d+(?:\.\d*)?$/.test(cells[price + 1] ?? '')
  return !isSplit && requiredColumns.every((name) => !isBlank(cells[names.indexOf(name)] ?? ''))
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * The command that makes a deal. With an id of the deal, the command id comes from the row alone, wherever it is; a
 * row that was corrected is another command.
 */
function creation(params: Readonly<Record<string, unknown>>, of: CommandOf): RowCommand {
  const { id: deal } = params
  const digest = () => hash('sha256', JSON.stringify(params), 'base64url').slice(0, 16)
  const isNamed = typeof deal === 'string' && uuid.test(deal)
  const id = isNamed ? `import.${deal.toLowerCase()}.${digest()}` : `${of.key}.${of.number}`
  return { id, action: 'CreateDeal', params }
}

async function* readNdjson(texts: AsyncGenerator<string>, { key, onHeader }: ReadOptions): AsyncGenerator<Row> {
  onHeader(undefined)
  let [number, line] = [0, 0]
  for await (const source of linesOf(texts, maxLineLength)) {
    line += 1
    if (source.trim() !== '') {
      number += 1
      yield { number, line, source, ...commandOfText(source, { number, key }) }
    }
  }
}

function commandOfText(text: string, of: CommandOf): Pick<Row, 'command' | 'fault'> {
  const value = objectIn(text)
  if (typeof value === 'string') return { command: undefined, fault: value }
  // A line of a file of refused rows has the former line as `row`.
  let row = value
  while (isObject(row.row)) row = row.row
  if (typeof row.action !== 'string') {
    const members = Object.entries(row).filter(([name]) => !ignoredColumns.has(name))
    // `null` in an export says that the deal has no such thing.
    return { command: creation(Object.fromEntries(members.filter(([, member]) => member !== null)), of) }
  }
  const { id = `${of.key}.${of.number}`, ...members } = row
  if (typeof id !== 'string') return { command: undefined, fault: 'The id of a command is a text.' }
  return { command: { id, ...members, action: row.action } }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The object, or what is wrong with the line. */
function objectIn(text: string): Record<string, unknown> | string {
  try {
    const value = parseJson(quoteOddAmounts(text))
    return isObject(value) ? value : notAnObject
  } catch (error) {
    return error instanceof DoubledMember ? 'The line has an object with the same member twice.' : notAnObject
  }
}

const notAnObject = 'The line is not a JSON object.'
