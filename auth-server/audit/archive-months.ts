/** Writes whole months of the audit log into files, from the first entry that is not archived on. */
import { access } from 'node:fs/promises'
import { manifestPath } from '../../shared/platform/archive/archive-file.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { OperationError, OperationFailed } from '../../shared/platform/terminal/report.ts'
import type { SecretsKeys } from '../store/secrets-keys.ts'
import { faultOfHead, monthAfter, readArchiveHead } from './archive-head.ts'
import type { AuditHead } from './audit.ts'
import { type Mac, macUnder } from './chain.ts'
import { type MonthFacts, monthPath, verifyMonth, writeMonth } from './month-file.ts'
import { type ChainedEntry, readChainedEntries } from './read-entries.ts'
import { faultOf, sentenceOf } from './verify-chain.ts'

/** The systems that the archiving uses. */
export interface ArchivePorts {
  readonly database: Pick<Database, 'query'>
  /** The first one seals. */
  readonly secretsKeys: SecretsKeys
  /** Checks entries of former keys, too. */
  readonly allSecretsKeys: SecretsKeys
  readonly signal: AbortSignal
  /** How many entries are read at once; 1,000 when left out. */
  readonly pageSize?: number
}

/** What is archived, and where to. */
export interface ArchiveRequest {
  /** The first month that is not archived: `2026-01`. */
  readonly before: string
  readonly directory: string
}

/** A month in its file, which was read back and checked. */
export interface ArchivedMonth extends MonthFacts {
  readonly path: string
}

/** A place in the log: everything before it is in files, and the month that an entry behind it has at least. */
interface Place {
  readonly end: AuditHead
  readonly least: string
}

/**
 * An entry belongs to the month of its time, but never to an earlier one than the entry before it: so each month is one
 * piece of the chain, and what is archived is older than `before`. A file that is there already is checked against the
 * log instead of written. Resolves to all months before `before` whose entries are in the database.
 *
 * @throws OperationError when the log is not sound, or a file is another one; OperationFailed when a file that was
 * written reads otherwise; Unavailable
 */
export async function archiveMonths(ports: ArchivePorts, request: ArchiveRequest): Promise<ArchivedMonth[]> {
  const head = await readArchiveHead(ports.database)
  if (faultOfHead(ports.allSecretsKeys, head) !== undefined) {
    throw new OperationError('`audit verify` says what is wrong with the beginning of the log. Nothing was archived.')
  }
  const least = head.month === '' ? '' : monthAfter(head.month)
  let place: Place = { end: { count: head.count, digest: head.digest }, least }
  const months: ArchivedMonth[] = []
  for (;;) {
    const [next] = await readChainedEntries(ports.database, { after: place.end.count, limit: 1 })
    const month = next && monthFrom(next, place.least)
    if (month === undefined || month >= request.before) return months
    const archived = await archiveMonth(ports, { month, place, directory: request.directory })
    months.push(archived)
    place = { end: { count: archived.last, digest: archived.mac }, least: monthAfter(month) }
  }
}

const monthFrom = ({ at }: ChainedEntry, least: string): string => (at.slice(0, 7) > least ? at.slice(0, 7) : least)

interface MonthRequest {
  readonly month: string
  readonly place: Place
  readonly directory: string
}

async function archiveMonth(ports: ArchivePorts, request: MonthRequest): Promise<ArchivedMonth> {
  const { month, place, directory } = request
  const path = monthPath(directory, month)
  const isThere = await exists(manifestPath(path))
  const log = { month, before: place.end }
  if (!isThere) {
    const entries = readMonth(ports, log, Number.POSITIVE_INFINITY)
    await writeMonth(path, { month, before: place.end, entries }, { key: ports.secretsKeys[0], signal: ports.signal })
  }
  const { facts, fault } = await verifyMonth(path, ports.allSecretsKeys)
  if (facts === undefined || fault !== undefined) {
    const reason = `${path}: ${fault}`
    throw isThere ? new OperationError(`${reason} Move it away, and archive again.`) : new OperationFailed(reason)
  }
  if (isThere) await requireSame(ports, { path, facts, log })
  return { ...facts, path }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

interface MonthOfLog {
  readonly month: string
  readonly before: AuditHead
}

/** The entries of a month up to the number `last`, each checked. @throws OperationError, Unavailable */
async function* readMonth(
  { database, allSecretsKeys, pageSize = 1000, signal }: ArchivePorts,
  { month, before }: MonthOfLog,
  last: number,
): AsyncGenerator<ChainedEntry> {
  const macs = new Map<string, Mac>(allSecretsKeys.map((key) => [key.id, macUnder(key)]))
  let sound = before
  for (;;) {
    signal.throwIfAborted()
    const page = await readChainedEntries(database, { after: sound.count, limit: pageSize })
    for (const entry of page) {
      if (entry.seq > last || monthFrom(entry, month) > month) return
      const fault = faultOf(entry, sound, macs)
      if (fault) throw new OperationError(`${sentenceOf(fault)} Nothing was removed.`)
      yield entry
      sound = { count: entry.seq, digest: entry.mac }
    }
    if (page.length < pageSize) return
  }
}

/** A file from an earlier run has these very entries. Entries that came later belong to a later month. */
async function requireSame(
  ports: ArchivePorts,
  { path, facts, log }: { readonly path: string; readonly facts: MonthFacts; readonly log: MonthOfLog },
): Promise<void> {
  let end = log.before
  const isNext = facts.first === end.count + 1 && facts.macBefore === end.digest
  if (isNext) {
    for await (const { seq: count, mac: digest } of readMonth(ports, log, facts.last)) end = { count, digest }
  }
  if (isNext && end.count === facts.last && end.digest === facts.mac) return
  throw new OperationError(`${path}: it is not of this log as it is now. Move it away, and archive again.`)
}
