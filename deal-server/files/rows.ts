/** Reads the rows of a file: CSV, or NDJSON with a deal or a whole command in each line. */
import { hash } from 'node:crypto'
import { CsvError, parse } from 'csv-parse'
import { DoubledMember, parseJson } from '../../shared/platform/json.ts'
import { OperationError } from '../../shared/platform/terminal/report.ts'
import { creationColumns, faultOfHeader, ignoredColumns, maxColumns } from './columns.ts'

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
  /** From 1, without the header and without blank lines. */
  readonly number: number
  /** The line of the file where the row ends. */
  readonly line: number
  /** As it stands in the file: the cells of CSV, or the text of a line. */
  readonly source: readonly string[] | string
  readonly command: RowCommand | undefined
  /** Set when there is no command. */
  readonly fault?: string
}

/** A file that cannot be read to its end. */
export class UnreadableFile extends OperationError {}

/** How rows are read. */
export interface ReadOptions {
  readonly format: FileFormat
  readonly delimiter: string
  /** The begin of the command ids of rows without an id of their own. */
  readonly key: string
  /** Called with the header of CSV, and for NDJSON with none. */
  readonly onHeader: (header: readonly string[] | undefined) => void
}

/** A longer row is no deal: it comes from quotes that are not closed, or from another kind of file. */
const maxRowBytes = 1024 * 1024
/** A longer line of NDJSON is no line of a batch either. It is parsed in one go. */
const maxLineLength = 64 * 1024

/** The rows in order. @throws UnreadableFile */
export function readRows(input: NodeJS.ReadableStream, options: ReadOptions): AsyncGenerator<Row> {
  return options.format === 'csv' ? readCsv(input, options) : readNdjson(input, options)
}

async function* readCsv(input: NodeJS.ReadableStream, { delimiter, key, onHeader }: ReadOptions): AsyncGenerator<Row> {
  const parser = parse({
    bom: true,
    delimiter,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: maxRowBytes,
    // All cells from here on are one: the first line of another kind of file may have a million.
    ignore_last_delimiters: maxColumns + 1,
    // Looking for the line break that a file uses is slow in a long first line.
    record_delimiter: ['\r\n', '\n', '\r'],
  })
  input.on('error', (error) => parser.destroy(error))
  input.pipe(parser)
  let header: readonly string[] | undefined
  let number = 0
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
      if (header === undefined) {
        header = record.map((name) => name.trim())
        const fault = faultOfHeader(header, delimiter)
        if (fault !== undefined) throw new UnreadableFile(fault)
        onHeader(header)
      } else {
        number += 1
        yield { number, line: info.lines, source: record, ...commandOfCells({ header, record, number, key }) }
      }
    }
  } catch (error) {
    if (error instanceof CsvError) throw new UnreadableFile(`${error.message}.`)
    throw error
  }
  if (header === undefined) throw new UnreadableFile(faultOfHeader([], delimiter) ?? '')
}

interface Cells {
  readonly header: readonly string[]
  readonly record: readonly string[]
  readonly number: number
  readonly key: string
}

function commandOfCells({ header, record, number, key }: Cells): Pick<Row, 'command' | 'fault'> {
  if (record.length !== header.length) {
    return { command: undefined, fault: `The row has ${record.length} cells, the header ${header.length}.` }
  }
  const wanted: readonly string[] = creationColumns
  const cells = header.map((name, index) => [name, record[index] ?? ''] as const)
  // An empty cell stands for no value.
  return {
    command: creation(Object.fromEntries(cells.filter(([name, cell]) => wanted.includes(name) && cell !== '')), {
      number,
      key,
    }),
  }
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * The command that makes a deal. With an id of the deal, the command id comes from the row alone, wherever it stands; a
 * row that was corrected is another command.
 */
function creation(params: Readonly<Record<string, unknown>>, of: { number: number; key: string }): RowCommand {
  const { id: deal } = params
  const digest = () => hash('sha256', JSON.stringify(params), 'base64url').slice(0, 16)
  const isNamed = typeof deal === 'string' && uuid.test(deal)
  const id = isNamed ? `import.${deal.toLowerCase()}.${digest()}` : `${of.key}.${of.number}`
  return { id, action: 'CreateDeal', params }
}

async function* readNdjson(input: NodeJS.ReadableStream, { key, onHeader }: ReadOptions): AsyncGenerator<Row> {
  onHeader(undefined)
  let [number, line] = [0, 0]
  for await (const text of linesOf(input)) {
    line += 1
    const source = line === 1 ? text.replace(/^\ufeff/, '') : text
    if (source.trim() !== '') {
      number += 1
      yield { number, line, source, ...commandOfText(source, { number, key }) }
    }
  }
}

async function* linesOf(input: NodeJS.ReadableStream): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of input.setEncoding('utf8') as NodeJS.ReadableStream & AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
    if (rest.length > maxLineLength) throw new UnreadableFile(`A line has more than ${maxLineLength} characters.`)
  }
  yield rest
}

function commandOfText(text: string, of: { number: number; key: string }): Pick<Row, 'command' | 'fault'> {
  const value = objectIn(text)
  if (typeof value === 'string') return { command: undefined, fault: value }
  // A line of a file of refused rows has the former line as `row`.
  const row = isObject(value.row) ? value.row : value
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
    const value = parseJson(text)
    return isObject(value) ? value : notAnObject
  } catch (error) {
    return error instanceof DoubledMember ? 'The line has an object with the same member twice.' : notAnObject
  }
}

const notAnObject = 'The line is not a JSON object.'
