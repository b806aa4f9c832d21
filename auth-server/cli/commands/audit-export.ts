/** `ops audit export`: entries of the audit log, as lines or CSV (docs/contract/operators.md#audit-log). */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { stringify } from 'csv-stringify'
import { isSameFile, standardOutput, writeWhole } from '../../../shared/platform/files/whole-file.ts'
import { withFilesOf } from '../../../shared/platform/operator-error.ts'
import { withProgress } from '../../../shared/platform/terminal/progress.ts'
import { type Report, type ReportAction, WrongUsage } from '../../../shared/platform/terminal/report.ts'
import { auditFilterShape, isSpan } from '../../audit/audit-filter.ts'
import { type ExportedEntry, type ExportResult, emptyResult, exportEntries } from '../../audit/export-entries.ts'
import type { AuditFilter } from '../../audit/read-entries.ts'
import { sentenceOf } from '../../audit/verify-chain.ts'
import type { AuthData, OpenAuthData } from '../offline/auth-data.ts'
import { settleAuditLog } from '../offline/record-operation.ts'
import { withExample, withText } from '../terminal/help.ts'

/** Services that the command uses. */
export interface AuditExportPorts {
  readonly openAuthData: OpenAuthData
  readonly report: ReportAction
  /** Where entries go without `--out`, and what is said about the export otherwise. */
  readonly output: NodeJS.WritableStream
  readonly warn: (text: string) => void
  /** The signal that ends the command. */
  readonly interrupted: () => AbortSignal
}

const formats = ['ndjson', 'csv'] as const

interface ExportOptions extends AuditFilter {
  readonly format: (typeof formats)[number]
  readonly out?: string
  readonly spreadsheet?: boolean
}

/** In CSV, in this order. */
const columns = [
  'seq',
  'at',
  'actor',
  'action',
  'target',
  'outcome',
  'scheme',
  'address',
  'requestId',
  'count',
  'reason',
  'changes',
  'keyId',
  'macBefore',
  'mac',
  'journal',
]

/** Adds the command to the group. */
export function addAuditExport(audit: Command, ports: AuditExportPorts): void {
  const command = audit
    .command('export')
    .description("write all matching entries, checked one by one, from the auth server's own database; servers may run")
    .option('--actor <name>', 'entries of this user', valueFor('actor'))
    .option('--action <action>', 'an action, or its beginning with * behind it', valueFor('action'))
    .option('--target <name>', 'entries about this user or id', valueFor('target'))
    .option('--outcome <outcome>', 'succeeded, or the code of a refusal', valueFor('outcome'))
    .option('--from <time>', 'entries of this time (RFC 3339) or later', valueFor('from'))
    .option('--to <time>', 'entries before this time', valueFor('to'))
    .addOption(new Option('--format <format>', 'lines of JSON or CSV').choices(formats).default('ndjson'))
    .option('--out <file>', 'the file, which is there when it is whole; the output when left out')
    .option('--spreadsheet', "in CSV, what a spreadsheet needs: a byte order mark, and ' before formulas")
    .action(ports.report((options: ExportOptions) => exportLog(ports, options)))
  withText(
    command,
    'Each entry has its MAC, the id of the key of SECRETS_KEY that made it, and the MAC of the entry before it. So it\n' +
      'can be checked alone, and the export does so: exit code 1 names the first entry that is not what was written.\n' +
      'The file has it too. Only `audit verify` finds entries that are missing.',
    'Reads AUTH_DATABASE_URL, or the database in DATA_DIR while no server has it open, and SECRETS_KEY (and\n' +
      'FORMER_SECRETS_KEYS for older entries).',
  )
  withExample(
    command,
    'audit export --from 2026-01-01T00:00:00Z --to 2026-02-01T00:00:00Z --out january.ndjson',
    'audit export --action key.revoked --format csv --spreadsheet --out revoked.csv',
  )
}

const valueFor =
  (member: keyof typeof auditFilterShape) =>
  (text: string): string => {
    const { success, data, error } = auditFilterShape[member].safeParse(text)
    if (success && data !== undefined) return data
    throw new InvalidArgumentError(`${error?.issues[0]?.message ?? 'Expected a value'}.`)
  }

async function exportLog(
  ports: AuditExportPorts,
  { format, out: named, spreadsheet, ...filter }: ExportOptions,
): Promise<Report> {
  const out = named === undefined || isSameFile(named, standardOutput) ? undefined : named
  if (!isSpan(filter)) throw new WrongUsage('--to: expected a time after --from.')
  const result = emptyResult()
  await ports.openAuthData(async (data) => {
    await settleAuditLog(data)
    await withProgress('numbers', (onProgress) => {
      const entries = entriesOf(data, { filter, result, onProgress })
      const write = (file: string | undefined) => writeEntries(ports, { entries, format, file, spreadsheet })
      return out === undefined ? write(undefined) : withFilesOf('--out', out, () => write(out))
    })
  })
  return reportOf(ports, result, out)
}

interface Reading {
  readonly filter: AuditFilter
  readonly result: ExportResult
  readonly onProgress: (done: number, total: number) => void
}

const entriesOf = ({ database, allSecretsKeys }: AuthData, { filter, result, onProgress }: Reading) =>
  exportEntries({ database, secretsKeys: allSecretsKeys, onProgress }, filter, result)

interface Writing {
  readonly entries: AsyncIterable<ExportedEntry>
  readonly format: ExportOptions['format']
  readonly file: string | undefined
  readonly spreadsheet: boolean | undefined
}

/** Writes as fast as the target takes it. */
async function writeEntries(
  { output, interrupted }: AuditExportPorts,
  { entries, format, file, spreadsheet = false }: Writing,
): Promise<void> {
  const signal = interrupted()
  const writeTo = async (target: NodeJS.WritableStream) => {
    const ending = { end: target !== output, signal }
    if (format === 'ndjson') await pipeline(Readable.from(entries), linesOf, target, ending)
    else {
      const csv = stringify({ header: true, bom: spreadsheet, columns, escape_formulas: spreadsheet })
      await pipeline(Readable.from(entries), csv, target, ending)
    }
  }
  try {
    // The log has names and addresses of people.
    await (file === undefined ? writeTo(output) : writeWhole(file, writeTo, { mode: 0o600 }))
  } catch (error) {
    signal.throwIfAborted()
    throw error
  }
}

async function* linesOf(entries: AsyncIterable<ExportedEntry>): AsyncGenerator<string> {
  for await (const entry of entries) yield `${JSON.stringify(entry)}\n`
}

/** Without a file, the output belongs to the entries. */
function reportOf({ warn }: AuditExportPorts, result: ExportResult, out: string | undefined): Report {
  const { entries, first, last, fault } = result
  const sound = fault === undefined
  const found =
    entries === 0 ? 'No entry' : `${entries} ${entries === 1 ? 'entry' : 'entries'}, from ${first} to ${last}`
  const text = sound
    ? `Exported: ${found}. Each is what was written.`
    : `Exported: ${found}.\nWrong: ${sentenceOf(fault)}`
  const exitCode = sound ? 0 : 1
  if (out !== undefined) return { json: { ok: sound, file: out, ...result, fault: fault ?? null }, text, exitCode }
  warn(text)
  return { json: undefined, text: '', exitCode }
}
