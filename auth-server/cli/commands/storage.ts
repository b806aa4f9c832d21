/** `ops storage`: what both servers have stored, how it grows, what removes it, and what is due. */
import { type Command, InvalidArgumentError } from 'commander'
import type { Clock } from '../../../shared/platform/clock.ts'
import { type Report, type ReportAction, table } from '../../../shared/platform/terminal/report.ts'
import type { StoredPartition } from '../../audit/partitions.ts'
import type { StorageReport } from '../offline/measure-storage.ts'
import type { OpenStoredData } from '../offline/stored-data.ts'
import { bytesText } from '../terminal/bytes-text.ts'
import { withExample, withText } from '../terminal/help.ts'

/** Services that the command uses. */
export interface StoragePorts {
  readonly openStoredData: OpenStoredData
  readonly clock: Clock
  readonly report: ReportAction
}

/** Adds the command to the program. */
export function addStorageCommand(program: Command, { openStoredData, clock, report }: StoragePorts): void {
  const storage = program
    .command('storage')
    .description('what is stored: rows, sizes, growth, what removes it, and what is due; servers may run')
    .option('--days <days>', 'the growth is that of so many last days', days, 30)
    .action(
      report((options: { days: number }) =>
        openStoredData(async (data) => {
          const { measureStorage } = await import('../offline/measure-storage.ts')
          return reportOf(await measureStorage(data, { now: clock.now(), days: options.days }))
        }),
      ),
    )
  withText(
    storage,
    'Sizes are exact. Rows and growth of a table over 16 MB are estimates: by its last analysis, by a sample of\n' +
      '16 MB, or by a search in an index of numbers. So it is quick, and reads little, whatever the size. GROWTH is\n' +
      'what a day adds; what is removed is not subtracted.',
    'Reads AUTH_DATABASE_URL and DEAL_DATABASE_URL, of which one may be missing, or the database in DATA_DIR while no\n' +
      'server has it open.',
  )
  withExample(storage, 'storage', 'storage --days 7')
}

function days(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected a number from 1 to 9999.')
}

const titles = ['KIND', 'ROWS', 'TABLE', 'INDEXES', 'A ROW', 'ROWS A DAY', 'GROWTH', 'REMOVED']

function reportOf(storage: StorageReport): Report {
  const { kinds, due, partitions, notSeen } = storage
  const rows = kinds.map((kind) => [
    kind.name,
    String(kind.rows),
    bytesText(kind.tableBytes),
    bytesText(kind.indexBytes),
    kind.bytesPerRow === null ? '-' : bytesText(kind.bytesPerRow),
    kind.rowsPerDay === null ? '-' : String(kind.rowsPerDay),
    kind.bytesPerDay === null ? '-' : bytesText(kind.bytesPerDay),
    kind.removal,
  ])
  const sum = kinds.reduce((bytes, { tableBytes, indexBytes }) => bytes + tableBytes + indexBytes, 0)
  const lines = [
    table(titles, rows),
    `Together: ${bytesText(sum)}`,
    ...(partitions.length === 0 ? [] : [partitionTable(partitions)]),
    ...notSeen.map((setting) => `Without ${setting}, that database is not seen.`),
    due.length === 0 ? 'Nothing is due.' : `Due:\n${due.map((one) => `  ${one}`).join('\n')}`,
  ]
  return { json: { ...storage, bytes: sum }, text: lines.join('\n') }
}

const partitionTable = (partitions: readonly StoredPartition[]): string =>
  table(
    ['AUDIT ENTRIES FROM', 'FIRST', 'LAST', 'SIZE'],
    partitions.map(({ month, first, behind, bytes }) => [
      month ?? '-',
      String(first),
      behind === null ? '…' : String(behind - 1),
      bytesText(bytes),
    ]),
  )
