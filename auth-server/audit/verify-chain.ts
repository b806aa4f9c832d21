/**
 * Checks the chain of the audit log, also against a head from the server's log: `npm run ops -- audit verify [--head
 * …]`.
 */
import { sql } from 'drizzle-orm'
import type { Database } from '../../shared/platform/database/database.ts'
import { sqlTextOf } from '../../shared/platform/database/statement.ts'
import { auditEntries, auditHead } from '../store/audit-tables.ts'
import type { SecretsKeys } from '../store/secrets-keys.ts'
import type { AuditHead } from './audit.ts'
import { type Mac, macUnder } from './chain.ts'
import { faultOfStart, type LogStart, logStartSql, nothingDropped, readLogStart } from './log-start.ts'
import { type ChainedEntry, readChainedEntries } from './read-entries.ts'

/** The first fault of the log, and the number of its entry. */
export interface AuditFault {
  readonly fault: keyof typeof sentences
  readonly seq: number
}

/** The result: how far the log is correct, and the first fault if there is one. */
export interface AuditVerdict {
  /** The head of the correct part; without a fault, the head of the log. */
  readonly sound: AuditHead
  /** The last entry that was dropped; undefined when none was. */
  readonly dropped: AuditHead | undefined
  readonly fault: AuditFault | undefined
}

/** The systems that the check uses. */
export interface VerifyPorts {
  readonly database: Database
  /** The check knows entries of each of these keys. */
  readonly secretsKeys: SecretsKeys
  /** How many entries are read at once. The default is 1,000. */
  readonly pageSize?: number
  /** The check ends in front of the first entry of this time (RFC 3339) or later; with the log when left out. */
  readonly before?: string
  /** Called after each page: how many entries are checked, out of how many. */
  readonly onProgress?: (done: number, total: number) => void
}

/** One statement reads all, because an entry and the head that counts it become visible together. */
const endSql = sqlTextOf(sql`select json_build_object('count', ${auditHead.count}, 'digest', ${auditHead.mac},
  'start', ${logStartSql},
  'first', (select min(${auditEntries.seq}) from ${auditEntries}),
  'last', (select coalesce(max(${auditEntries.seq}), 0) from ${auditEntries})) as "end" from ${auditHead}`)

interface Ends extends AuditHead {
  readonly start: LogStart | null
  readonly first: number | null
  readonly last: number
}

const noEnds: Ends = { count: 0, digest: '', start: null, first: null, last: 0 }

/**
 * Checks the entries that exist at the time of the call, from the first that was not dropped; the log may grow in the
 * meantime. `known` is a head that was logged earlier: an attacker with access to the database can cut off the end, but
 * then the rest does not agree with this head.
 *
 * @throws Unavailable
 */
export async function verifyChain(ports: VerifyPorts, known?: AuditHead): Promise<AuditVerdict> {
  const [row] = await ports.database.query<{ end: Ends }>(endSql)
  const end = row?.end ?? noEnds
  const stored = end.start ?? nothingDropped
  const start: AuditHead = { count: stored.count, digest: stored.digest }
  const dropped = start.count === 0 ? undefined : start
  const faultThere = faultOfBeginning(ports.secretsKeys, stored, end.first)
  if (faultThere) return { sound: start, dropped, fault: faultThere }
  const { sound, fault, digestAtKnown, isPart } = await walk(ports, {
    from: start,
    count: end.count,
    known: known?.count,
  })
  // Entries that were there a moment ago are dropped now.
  if (fault?.fault === 'missing' && (await readLogStart(ports.database)).count > start.count) {
    return verifyChain(ports, known)
  }
  if (isPart) return { sound, dropped, fault: undefined }
  return { sound, dropped, fault: fault ?? faultOfEnd({ sound, end, start }, known, digestAtKnown) }
}

/** What is wrong with where the log begins. */
function faultOfBeginning(keys: SecretsKeys, start: LogStart, first: number | null): AuditFault | undefined {
  const fault = faultOfStart(keys, start)
  if (fault === 'broken') return { fault: 'broken-start', seq: start.count }
  if (fault === 'unknown-key') return { fault: 'unknown-start-key', seq: start.count }
  return first !== null && first <= start.count ? { fault: 'before-start', seq: first } : undefined
}

interface Found {
  readonly sound: AuditHead
  readonly end: Ends
  /** The part of the log that was dropped. */
  readonly start: AuditHead
}

function faultOfEnd(
  { sound, end, start }: Found,
  known: AuditHead | undefined,
  digestAtKnown: string | undefined,
): AuditFault | undefined {
  if (sound.count < end.count) return { fault: 'cut-off', seq: sound.count + 1 }
  if (end.last > end.count) return { fault: 'beyond-head', seq: end.count + 1 }
  if (sound.digest !== end.digest) return { fault: 'broken', seq: end.count }
  if (known === undefined) return undefined
  if (known.count > end.count) return { fault: 'cut-off', seq: end.count + 1 }
  if (known.count < start.count) return { fault: 'head-dropped', seq: known.count }
  return digestAtKnown === known.digest ? undefined : { fault: 'other-log', seq: known.count }
}

interface Walked {
  readonly sound: AuditHead
  readonly fault?: AuditFault
  /** True when the next entry is not to be checked any more. */
  readonly isPart?: true
  /** The digest of the log when it had as many entries as the known head says. */
  readonly digestAtKnown: string | undefined
}

interface Walk {
  /** The part of the log that is not walked over. */
  readonly from: AuditHead
  /** The number of the last entry. */
  readonly count: number
  /** The length of the known head. */
  readonly known: number | undefined
}

async function walk(ports: VerifyPorts, { from, count, known }: Walk): Promise<Walked> {
  const macs = new Map<string, Mac>(ports.secretsKeys.map((key) => [key.id, macUnder(key)]))
  let sound = from
  let digestAtKnown = known === from.count ? from.digest : undefined
  while (sound.count < count) {
    const limit = Math.min(ports.pageSize ?? 1000, count - sound.count)
    const entries = await readChainedEntries(ports.database, { after: sound.count, limit })
    if (entries.length === 0) break
    for (const entry of entries) {
      const fault = faultOf(entry, sound, macs)
      if (fault) return { sound, fault, digestAtKnown }
      if (ports.before !== undefined && entry.at >= ports.before) return { sound, isPart: true, digestAtKnown }
      sound = { count: entry.seq, digest: entry.mac }
      if (sound.count === known) digestAtKnown = sound.digest
    }
    ports.onProgress?.(sound.count - from.count, count - from.count)
  }
  return { sound, digestAtKnown }
}

/** The fault of an entry behind a sound part of the log; undefined when it belongs there. */
function faultOf(
  { keyId, mac, ...entry }: ChainedEntry,
  sound: AuditHead,
  macs: ReadonlyMap<string, Mac>,
): AuditFault | undefined {
  const seq = sound.count + 1
  if (entry.seq !== seq) return { fault: 'missing', seq }
  const macOf = macs.get(keyId)
  if (!macOf) return { fault: 'unknown-key', seq }
  return macOf(entry, sound.digest) === mac ? undefined : { fault: 'broken', seq }
}

/** Says what is wrong, in a sentence that begins in lower case. */
export const sentenceOf = ({ fault, seq }: AuditFault): string => sentences[fault](seq)

const sentences = {
  missing: (seq: number) => `entry ${seq} is missing, though there are later ones.`,
  broken: (seq: number) => `entry ${seq}, or the one before it, is not what was written.`,
  'unknown-key': (seq: number) =>
    `entry ${seq} was written under a key that is neither in SECRETS_KEY nor in FORMER_SECRETS_KEYS: ` +
    'nothing from there on can be checked.',
  'cut-off': (seq: number) => `the log ends before entry ${seq}, which was there once.`,
  'beyond-head': (seq: number) => `entry ${seq} is behind the end of the log.`,
  'broken-start': (seq: number) => `the row that says that entries up to ${seq} were dropped is not what was written.`,
  'unknown-start-key': (seq: number) =>
    `the row that says that entries up to ${seq} were dropped was sealed under a key that is neither in SECRETS_KEY ` +
    'nor in FORMER_SECRETS_KEYS.',
  'before-start': (seq: number) => `entry ${seq} is before the beginning of the log: up to there it was dropped.`,
  'head-dropped': (seq: number) => `the given head is of entry ${seq}, which was dropped: give a later one.`,
  'other-log': (seq: number) => `this is not the log whose entry ${seq} was the given head: it was rewritten.`,
}

/** The text form of a head, in the server's log and on the command line: `count:digest`. */
export const formatAuditHead = ({ count, digest }: AuditHead): string => `${count}:${digest}`

/** Parses the text form of a head; undefined for another text. */
export function parseAuditHead(text: string): AuditHead | undefined {
  const [, count, digest] = /^(\d{1,15}):([A-Za-z0-9_-]{43})?$/.exec(text) ?? []
  if (count === undefined || (Number(count) === 0) !== (digest === undefined)) return undefined
  return { count: Number(count), digest: digest ?? '' }
}
