/** `ops audit archive`, and the check of its files (docs/contract/operators.md#archive-of-the-audit-log). */
import { stat } from 'node:fs/promises'
import { type Command, InvalidArgumentError } from 'commander'
import type { Clock } from '../../../shared/platform/clock.ts'
import { withFilesOf } from '../../../shared/platform/operator-error.ts'
import { withProgress } from '../../../shared/platform/terminal/progress.ts'
import { type Report, type ReportAction, table, WrongUsage } from '../../../shared/platform/terminal/report.ts'
import { monthOf } from '../../audit/archive-head.ts'
import type { ArchivedMonth } from '../../audit/archive-months.ts'
import type { AuditHead } from '../../audit/audit.ts'
import { faultOfJoin, type MonthVerdict, verifyMonth } from '../../audit/month-file.ts'
import type { SecretsKeys } from '../../store/secrets-keys.ts'
import type { OpenAuthData } from '../offline/auth-data.ts'
import { duringOperation, requireKeyOfLog, settleAuditLog } from '../offline/record-operation.ts'
import { bytesText } from '../terminal/bytes-text.ts'
import { withExample, withText } from '../terminal/help.ts'

/** Services that the command uses. */
export interface AuditArchivePorts {
  readonly openAuthData: OpenAuthData
  readonly clock: Clock
  /** The name of the operator, for the audit log; undefined when it is not known. */
  readonly operator: string | undefined
  readonly report: ReportAction
  /** The signal that ends the command. */
  readonly interrupted: () => AbortSignal
}

interface ArchiveOptions {
  readonly before: string
  readonly directory: string
  readonly remove?: boolean
}

/** Adds the command to the group. */
export function addAuditArchive(audit: Command, ports: AuditArchivePorts): void {
  const command = audit
    .command('archive')
    .description('write whole months into files that can be checked alone, and remove them from the database if asked')
    .requiredOption('--before <month>', 'the first month that stays: 2026-01', month)
    .requiredOption('--directory <directory>', 'where the files go, two for each month')
    .option('--remove', 'remove the entries from the database, once their files were read back and checked')
    .action(ports.report((options: ArchiveOptions) => archive(ports, options)))
  withText(
    command,
    'A month is audit-2026-01.ndjson.gz, a line for each entry, and audit-2026-01.manifest.json, which has its numbers,\n' +
      'its sums, and a seal under SECRETS_KEY. `audit verify --file` checks them alone. Every file is read back and\n' +
      'checked. A file that is there already is checked against the log.',
    'With --remove, GET /audit and `audit verify` begin behind the removed entries, and the numbers go on. An entry\n' +
      'audit.archived says so. An interrupted run can be repeated. Copy the files away, and do this only when all auth\n' +
      'servers are of this release. Keep the SECRETS_KEY of each file, as for `audit verify`.',
    'Works on AUTH_DATABASE_URL (servers may run), or on the database in DATA_DIR while no server has it open.',
  )
  withExample(
    command,
    'audit archive --before 2026-01 --directory /var/backups/keyhold',
    'audit archive --before 2026-01 --directory /var/backups/keyhold --remove',
  )
}

function month(text: string): string {
  if (/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) return text
  throw new InvalidArgumentError('Expected a month such as 2026-01.')
}

async function archive(ports: AuditArchivePorts, { before, directory, remove }: ArchiveOptions): Promise<Report> {
  if (before > monthOf(new Date(ports.clock.now())))
    throw new WrongUsage('--before: the months before it are not over.')
  await withFilesOf('--directory', directory, async () => {
    if (!(await stat(directory)).isDirectory()) throw new WrongUsage(`--directory: ${directory} is none.`)
  })
  const signal = ports.interrupted()
  return ports.openAuthData(async (data) => {
    await requireKeyOfLog(data)
    await settleAuditLog(data)
    const { archiveMonths } = await import('../../audit/archive-months.ts')
    const months = await withFilesOf('--directory', directory, () =>
      archiveMonths({ ...data, signal }, { before, directory }),
    )
    if (!remove || months.length === 0) return reportOf(months, 0)
    const { removeArchived } = await import('../../audit/remove-archived.ts')
    const removed = await withProgress('entries', (onProgress) =>
      duringOperation({ ...ports, ...data }, () => removeArchived({ ...data, signal, onProgress }, months)),
    )
    return reportOf(months, removed)
  })
}

function reportOf(months: readonly ArchivedMonth[], removed: number): Report {
  const json = { months: months.map(({ format: _format, ...one }) => one), removed }
  if (months.length === 0) return { json, text: 'There is nothing to archive.' }
  const rows = months.map((one) => [
    one.month,
    String(one.entries),
    String(one.first),
    String(one.last),
    bytesText(one.bytes),
    one.path,
  ])
  const text = [
    table(['MONTH', 'ENTRIES', 'FIRST', 'LAST', 'SIZE', 'FILE'], rows),
    'Each file was read back, and is what the log has.',
    removed === 0 ? 'Nothing was removed from the database.' : `Removed from the database: ${removed} entries.`,
  ].join('\n')
  return { json, text }
}

/** Checks files alone, and whether they follow each other. `known` is a head that one of them must have. */
export async function verifyFiles(
  paths: readonly string[],
  { allSecretsKeys, known }: { readonly allSecretsKeys: SecretsKeys; readonly known: AuditHead | undefined },
): Promise<Report> {
  const verdicts: MonthVerdict[] = []
  for (const path of paths) {
    verdicts.push(await withFilesOf('--file', path, () => verifyMonth(path, allSecretsKeys, known?.count)))
  }
  const faults = verdicts.flatMap(({ path, fault }) => (fault === undefined ? [] : [`${path}: ${fault}`]))
  const all = faults.length > 0 ? faults : [...faultsOfJoins(verdicts), ...faultsOfHead(verdicts, known)]
  const months = verdicts.flatMap(({ path, facts, fault }) =>
    facts && fault === undefined ? [{ path, ...facts }] : [],
  )
  const lines = months.map(
    ({ path, month: name, entries, first, last, mac }) =>
      `In order: ${path}, ${name}, ${entries} entries from ${first} to ${last}. Its head is ${last}:${mac}`,
  )
  const json = { ok: all.length === 0, files: months.map(({ format: _format, ...one }) => one), faults: all }
  return {
    json,
    text: [...lines, ...all.map((fault) => `Wrong: ${fault}`)].join('\n'),
    exitCode: all.length > 0 ? 1 : 0,
  }
}

function faultsOfJoins(verdicts: readonly MonthVerdict[]): string[] {
  const months = verdicts.flatMap(({ facts }) => facts ?? []).toSorted((one, other) => one.first - other.first)
  return months.slice(1).flatMap((next, index) => {
    const before = months[index]
    return (before && faultOfJoin(before, next)) ?? []
  })
}

function faultsOfHead(verdicts: readonly MonthVerdict[], known: AuditHead | undefined): string[] {
  if (known === undefined) return []
  const found = verdicts.find(({ digestAt }) => digestAt !== undefined)
  if (found === undefined) return [`none of the files has entry ${known.count}, of which the given head is.`]
  return found.digestAt === known.digest ? [] : [`${found.path}: it is not of the log whose head was given.`]
}
