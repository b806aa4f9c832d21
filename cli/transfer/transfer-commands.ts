/** `keyhold deals import` and `keyhold deals export` (docs/import-export.md). */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { FileFormat } from '../../deal-server/files/rows.ts'
import { dealListParameters } from '../../deal-server/http/requests/deal-lists.ts'
import { isSameFile, standardOutput } from '../../shared/platform/files/whole-file.ts'
import { jsonSchemaOf } from '../../shared/platform/openapi/json-schema.ts'
import { type Report, WrongUsage } from '../../shared/platform/terminal/report.ts'
import type { DealServer } from './deal-server.ts'
import { exportDeals } from './export-deals.ts'
import { canBeReadAgain, type ImportResult, importDeals } from './import-deals.ts'
import { counted, createProgress } from './progress.ts'

interface TransferPorts {
  /** The deal server, with the credential of the person. */
  readonly dealServer: () => Promise<DealServer>
  readonly streams: {
    readonly input: NodeJS.ReadableStream
    readonly output: NodeJS.WritableStream
    readonly errors: NodeJS.WritableStream & { readonly isTTY?: boolean }
  }
  readonly report: <Parameters extends unknown[]>(
    work: (...parameters: Parameters) => Promise<Report>,
  ) => (...parameters: Parameters) => Promise<void>
  warn(text: string): void
  interrupted(): AbortSignal
}

interface CommonOptions {
  readonly format?: FileFormat
  readonly delimiter: string
  readonly patience: number
}

interface ImportOptions extends CommonOptions {
  readonly key?: string
  readonly refused?: string
  readonly batch: number
  readonly parallel: number
  readonly restart?: boolean
}

interface ExportOptions extends CommonOptions, Readonly<Record<string, unknown>> {
  readonly spreadsheet?: boolean
}

/** Adds both commands. */
export function addTransferCommands(deals: Command, ports: TransferPorts): void {
  addImport(deals, ports)
  addExport(deals, ports)
}

const number = (min: number, max: number) => (text: string) => {
  if (/^\d{1,6}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text)
  throw new InvalidArgumentError(`Expected a number from ${min} to ${max}.`)
}

const withCommon = (command: Command): Command =>
  command
    .addOption(new Option('--format <format>', 'instead of what the name ends with').choices(['csv', 'ndjson']))
    .option('--delimiter <character>', 'between cells of CSV', ',')
    .option('--patience <seconds>', 'how long to go on while the server is away', number(0, 86_400), 300)

function addImport(deals: Command, ports: TransferPorts): void {
  withCommon(deals.command('import <file>'))
    .description('create a deal from each row of a file; NDJSON may have commands too; - reads the input')
    .option('--key <text>', 'the start of command ids, instead of one from the content of the file')
    .option('--refused <file>', 'where refused rows go; FILE.refused.csv or .ndjson when left out')
    .option('--restart', 'begin at the first row, wherever an earlier import broke off')
    .option('--batch <rows>', 'rows of one request', number(1, 1000), 500)
    .option('--parallel <batches>', 'requests at once', number(1, 8), 4)
    .addHelpText(
      'after',
      '\nColumns: id, name, price, currency, completionDate, ownerId, description; name and price are needed.\n' +
        'The same file imported again does nothing twice. An import that broke off goes on where it was.\n' +
        'Exit codes: 0 all rows are there, 1 some were refused, or the import broke off.\n\n' +
        'Examples:\n  keyhold deals import deals.csv\n  zcat deals.ndjson.gz | keyhold deals import - --format ndjson --key may',
    )
    .action(ports.report((file: string, options: ImportOptions) => runImport(file, options, ports)))
}

function addExport(deals: Command, ports: TransferPorts): void {
  const command = withCommon(deals.command('export [file]'))
    .description('write deals to a file; - or none writes to the output')
    .option('--spreadsheet', "what a spreadsheet needs: a byte order mark, and ' before formulas; not for import")
  for (const option of filterOptions()) command.addOption(option)
  command
    .addHelpText(
      'after',
      '\nExamples:\n  keyhold deals export deals.csv --status open\n  keyhold deals export --format ndjson | gzip > deals.ndjson.gz',
    )
    .action(ports.report((file: string | undefined, options: ExportOptions) => runExport(file, options, ports)))
}

function formatOf(file: string | undefined, format: FileFormat | undefined): FileFormat {
  if (format) return format
  const ending = file?.split('.').at(-1)?.toLowerCase()
  if (ending === 'csv') return 'csv'
  if (ending === 'ndjson' || ending === 'jsonl') return 'ndjson'
  throw new WrongUsage('The name does not say which format it is: give --format csv or --format ndjson.')
}

async function runImport(name: string, options: ImportOptions, ports: TransferPorts): Promise<Report> {
  const file = name === '-' ? undefined : name
  const kept = file !== undefined && canBeReadAgain(file) ? file : undefined
  const format = formatOf(file, options.format)
  const refusedFile = options.refused ?? `${kept ?? 'import'}.refused.${format}`
  if (kept !== undefined && isSameFile(kept, refusedFile))
    throw new WrongUsage('--refused: that is the file to import.')
  if (kept === undefined && options.key === undefined) {
    ports.warn('Rows without an id of a deal are created again when this is repeated, unless you give --key.')
  }
  const { input, errors } = ports.streams
  const result = await importDeals(await ports.dealServer(), {
    file,
    input,
    format,
    refusedFile,
    delimiter: delimiterOf(options),
    key: keyOf(options.key),
    batchRows: options.batch,
    batches: options.parallel,
    fromBegin: options.restart === true,
    patienceMs: options.patience * 1000,
    signal: ports.interrupted(),
    startProgress: (total, rowsBefore) => createProgress({ stream: errors, total, unit: 'rows', rowsBefore }),
    onResume: (rows) => ports.warn(`Going on after ${counted(rows)} rows of an earlier import.`),
    onIgnored: (names) => ports.warn(`An import leaves these columns out: ${names.join(', ')}.`),
  })
  return importReport(result, refusedFile)
}

function importReport(result: ImportResult, refusedFile: string): Report {
  const { rows, done, replayed, refused } = result
  const before = replayed > 0 ? `; ${counted(replayed)} of them had been before` : ''
  const sentences = [`Of ${counted(rows)} rows ${counted(done)} are carried out${before}.`]
  if (refused > 0) sentences.push(`${counted(refused)} were refused: see ${refusedFile}.`)
  const json = { ...result, ...(refused > 0 && { refusedFile }) }
  return { json, text: sentences.join(' '), exitCode: refused > 0 ? 1 : 0 }
}

async function runExport(name: string | undefined, options: ExportOptions, ports: TransferPorts): Promise<Report> {
  const file = name === '-' || (name !== undefined && isSameFile(name, standardOutput)) ? undefined : name
  const format = file === undefined && options.format === undefined ? 'csv' : formatOf(file, options.format)
  const texts = filterOptions().flatMap((option) => {
    const value = options[option.attributeName()]
    return value === undefined ? [] : [[option.attributeName(), String(value)] as const]
  })
  const rows = await exportDeals(await ports.dealServer(), {
    file,
    output: ports.streams.output,
    format,
    delimiter: delimiterOf(options),
    escapesFormulas: options.spreadsheet === true,
    query: Object.fromEntries(texts),
    patienceMs: options.patience * 1000,
    signal: ports.interrupted(),
    startProgress: (total) => createProgress({ stream: ports.streams.errors, total, unit: 'deals' }),
  })
  if (file === undefined) return nothing
  return { json: { file, deals: rows }, text: `${counted(rows)} deals are in ${file}.` }
}

const nothing: Report = { json: undefined, text: '' }

function delimiterOf({ delimiter }: CommonOptions): string {
  const character = delimiter === '\\t' ? '\t' : delimiter
  if (character.length === 1 && !/["\r\n]/.test(character)) return character
  throw new WrongUsage('--delimiter: expected one character.')
}

function keyOf(key: string | undefined): string | undefined {
  if (key === undefined || /^[A-Za-z0-9._~-]{1,100}$/.test(key)) return key
  throw new WrongUsage('--key: expected 1 to 100 of A-Z, a-z, 0-9, ".", "_", "~" and "-".')
}

/** Parameters that an export sets by itself. */
const ownParameters = ['limit', 'cursor', 'fields']

/** An option for each filter of the list of deals, and for its order. */
function filterOptions(): Option[] {
  const properties = Object(jsonSchemaOf(dealListParameters).properties) as Record<string, Parameter>
  const filters = Object.entries(properties).filter(([name]) => !ownParameters.includes(name))
  return filters.map(([name, { enum: choices, description = '' }]) => {
    const texts = choices?.map(String)
    const option = new Option(
      `--${kebab(name)} <value>`,
      name === 'sort' ? 'the order; createdAt when left out' : description,
    )
    return texts && texts.length <= 4 ? option.choices(texts) : option
  })
}

interface Parameter {
  readonly description?: string
  readonly enum?: readonly unknown[]
}

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
