/** `ops events …`: the archive of events of deals (docs/contract/operators.md#archive-of-events). */
import { stat } from 'node:fs/promises'
import { type Command, InvalidArgumentError } from 'commander'
import type { Clock } from '../../../shared/platform/clock.ts'
import { withFilesOf } from '../../../shared/platform/operator-error.ts'
import { withProgress } from '../../../shared/platform/terminal/progress.ts'
import { type Report, type ReportAction, table, WrongUsage } from '../../../shared/platform/terminal/report.ts'
import type { AuthData } from '../offline/auth-data.ts'
import type { ArchivedEvents, EventFileVerdict } from '../offline/events-archive.ts'
import type { OpenStoredData } from '../offline/stored-data.ts'
import { bytesText } from '../terminal/bytes-text.ts'
import { withExample, withText } from '../terminal/help.ts'

/** Services that the commands use. */
export interface EventCommandPorts {
  readonly openStoredData: OpenStoredData
  /** The keys of SECRETS_KEY and FORMER_SECRETS_KEYS. */
  readonly readKeys: () => Promise<Omit<AuthData, 'database'>>
  readonly clock: Clock
  readonly report: ReportAction
  /** The signal that ends the command. */
  readonly interrupted: () => AbortSignal
}

interface ArchiveOptions {
  readonly directory: string
  readonly olderThan: number
  readonly all?: boolean
  readonly remove?: boolean
}

const dayMs = 86_400_000

/** Adds the group to the program. */
export function addEventCommands(program: Command, ports: EventCommandPorts): void {
  const events = program
    .command('events')
    .description('the events of deals: archive them in files, and check the files')
  const archive = events
    .command('archive')
    .description('write events of purged deals into files, and remove them from the database if asked; servers may run')
    .requiredOption('--directory <directory>', 'where the files go')
    .option('--older-than <days>', 'events that happened so many days ago or earlier', days, 365)
    .option('--all', 'events of every deal, as a copy; they cannot be removed')
    .option('--remove', 'remove the events from the database, once their files were read back and checked')
    .action(ports.report((options: ArchiveOptions) => archiveAll(ports, options)))
  withText(
    archive,
    'A file has up to 500,000 events, each a line as PostgreSQL has it, and a manifest beside it with positions, sums\n' +
      'and a seal under SECRETS_KEY. Each is read back and checked.',
    'Only events of purged deals can be removed, and not the last one of a deal: it keeps the id of the deal taken.\n' +
      'Events that a webhook stands at stay too. A stream that begins at a position of a removed event is refused (400).',
    'Works on DEAL_DATABASE_URL, or on the database in DATA_DIR while no server has it open.',
  )
  withExample(archive, 'events archive --directory /var/backups/keyhold --older-than 730 --remove')
  const verify = events
    .command('verify')
    .description('check files of `events archive` alone')
    .argument('<files...>', 'the files that end in .ndjson.gz')
    .action(ports.report((files: string[]) => verifyAll(ports, files)))
  withText(verify, 'Needs SECRETS_KEY, and FORMER_SECRETS_KEYS for older files, but no database.')
  withExample(verify, 'events verify events-20260101T000000Z-0001.ndjson.gz')
}

/** Events of a deal that can be restored, or was just purged, are left alone. */
function days(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) >= 31) return Number(text)
  throw new InvalidArgumentError('Expected a number from 31 to 99999.')
}

async function archiveAll(ports: EventCommandPorts, options: ArchiveOptions): Promise<Report> {
  const { directory, olderThan, all = false, remove = false } = options
  if (all && remove) throw new WrongUsage('--remove: events of deals that exist are their history, so not with --all.')
  await withFilesOf('--directory', directory, async () => {
    if (!(await stat(directory)).isDirectory()) throw new WrongUsage(`--directory: ${directory} is none.`)
  })
  const { secretsKeys } = await ports.readKeys()
  const signal = ports.interrupted()
  const now = ports.clock.now()
  const prefix = `events-${new Date(now).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`
  return ports.openStoredData(async ({ deals }) => {
    if (deals === undefined) throw new WrongUsage('Set DEAL_DATABASE_URL to that of the deal servers.')
    const { archiveEvents } = await import('../offline/events-archive.ts')
    const request = { before: now - olderThan * dayMs, all, directory, prefix, remove }
    const files = await withProgress('positions', (onProgress) =>
      withFilesOf('--directory', directory, () =>
        archiveEvents({ database: deals, secretsKeys, signal, onProgress }, request),
      ),
    )
    return reportOf(files)
  })
}

function reportOf(files: readonly ArchivedEvents[]): Report {
  const removed = files.reduce((sum, file) => sum + file.removed, 0)
  const json = { files: files.map(({ format: _format, ...file }) => file), removed }
  if (files.length === 0) return { json, text: 'There is nothing to archive.' }
  const rows = files.map(({ events, first, last, bytes, path }) => [
    String(events),
    String(first),
    String(last),
    bytesText(bytes),
    path,
  ])
  const text = [
    table(['EVENTS', 'FIRST', 'LAST', 'SIZE', 'FILE'], rows),
    'Each file was read back, and is what was written.',
    removed === 0 ? 'Nothing was removed from the database.' : `Removed from the database: ${removed} events.`,
  ].join('\n')
  return { json, text }
}

async function verifyAll({ readKeys }: EventCommandPorts, paths: readonly string[]): Promise<Report> {
  const { allSecretsKeys } = await readKeys()
  const { verifyEventFile } = await import('../offline/events-archive.ts')
  const verdicts: EventFileVerdict[] = []
  for (const path of paths) {
    verdicts.push(await withFilesOf('<files>', path, () => verifyEventFile(path, allSecretsKeys)))
  }
  const lines = verdicts.map(({ path, facts, fault }) =>
    fault === undefined
      ? `In order: ${path}, ${facts?.events} events from ${facts?.first} to ${facts?.last}.`
      : `Wrong: ${path}: ${fault}`,
  )
  const ok = verdicts.every(({ fault }) => fault === undefined)
  const files = verdicts.map(({ path, facts, fault }) => ({ path, ...facts, fault: fault ?? null }))
  return { json: { ok, files }, text: lines.join('\n'), exitCode: ok ? 0 : 1 }
}
