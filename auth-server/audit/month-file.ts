/**
 * A month of the audit log in a file, with a sealed manifest: it can be checked alone, with SECRETS_KEY
 * (docs/contract/operators.md#archive-of-the-audit-log).
 */
import * as z from 'zod'
import {
  ArchiveDamaged,
  archiveName,
  archivePath,
  readArchive,
  readManifest,
  sumOf,
  writeArchive,
  writeManifest,
} from '../../shared/platform/archive/archive-file.ts'
import { entryChangeSchema } from '../../shared/protocol/entry-changes.ts'
import type { SecretsKey, SecretsKeys } from '../store/secrets-keys.ts'
import { faultOfSeal, sealWith } from './archive-seal.ts'
import type { AuditHead } from './audit.ts'
import { type Mac, macUnder } from './chain.ts'
import type { ChainedEntry } from './read-entries.ts'
import { faultOf, sentenceOf } from './verify-chain.ts'

const format = 'keyhold-audit/1'
const purpose = 'month'

const factsSchema = z.strictObject({
  format: z.literal(format),
  month: z.string().regex(/^\d{4}-\d\d$/),
  /** The numbers of the first and the last entry. */
  first: z.int().min(1),
  last: z.int().min(1),
  entries: z.int().min(1),
  /** The MAC of the entry before the first, and of the last one: months that follow each other join here. */
  macBefore: z.string(),
  mac: z.string(),
  bytes: z.int(),
  sha256: z.string(),
})

const manifestSchema = z.strictObject({ ...factsSchema.shape, keyId: z.string(), seal: z.string() })

/** What the manifest says, without its seal. */
export type MonthFacts = z.infer<typeof factsSchema>

const nameOf = (month: string): string => `audit-${month}`

/** The file of a month in a directory. */
export const monthPath = (directory: string, month: string): string => archivePath(directory, nameOf(month))

/** What a month is made of. */
export interface MonthContent {
  readonly month: string
  /** The log before the first entry. */
  readonly before: AuditHead
  readonly entries: AsyncIterable<ChainedEntry>
}

/** Writes a month that has entries, then its manifest. The entries come in order and were checked. */
export async function writeMonth(
  path: string,
  { month, before, entries }: MonthContent,
  { key, signal }: { readonly key: SecretsKey; readonly signal: AbortSignal },
): Promise<void> {
  let end = before
  async function* followed(): AsyncGenerator<ChainedEntry> {
    for await (const entry of entries) {
      yield entry
      end = { count: entry.seq, digest: entry.mac }
    }
  }
  const sum = await writeArchive(path, followed(), signal)
  const numbers = { first: before.count + 1, last: end.count, entries: end.count - before.count }
  const facts: MonthFacts = { format, month, ...numbers, macBefore: before.digest, mac: end.digest, ...sum }
  await writeManifest(path, { ...facts, ...sealWith(key, purpose, facts) })
}

/** What became of the check of a file. */
export interface MonthVerdict {
  readonly path: string
  /** What the manifest says; undefined when it cannot be believed. */
  readonly facts: MonthFacts | undefined
  /** What is wrong, as a sentence that begins in lower case. */
  readonly fault: string | undefined
  /** The MAC of the entry whose number was asked for, where the file has it. */
  readonly digestAt: string | undefined
}

/** Checks a file alone: its manifest, the chain of its entries, and its bytes. `at` is the number of an entry. */
export async function verifyMonth(path: string, keys: SecretsKeys, at?: number): Promise<MonthVerdict> {
  const wrong = (fault: string, facts?: MonthFacts): MonthVerdict => ({ path, facts, fault, digestAt: undefined })
  try {
    const found = await readFacts(path, keys)
    if (typeof found === 'string') return wrong(found)
    let digestAt: string | undefined
    const onEntry = ({ seq, mac }: ChainedEntry) => {
      if (seq === at) digestAt = mac
    }
    const fault = await faultOfEntries(path, found, { keys, onEntry })
    return fault === undefined ? { path, facts: found, fault, digestAt } : wrong(fault, found)
  } catch (error) {
    if (error instanceof ArchiveDamaged) return wrong(error.message)
    throw error
  }
}

/** What the manifest says, or what is wrong with it. */
async function readFacts(path: string, keys: SecretsKeys): Promise<MonthFacts | string> {
  const name = archiveName(path)
  if (name === undefined) return 'its name does not end in .ndjson.gz.'
  const json = await readManifest(path)
  if (json === undefined) return 'its manifest is missing.'
  const { success, data } = manifestSchema.safeParse(json)
  if (!success) return 'its manifest does not have the form of one.'
  const { keyId, seal, ...facts } = data
  const fault = faultOfSeal(keys, { purpose, members: facts, keyId, seal })
  if (fault === 'unknown-key') {
    return 'its manifest was sealed under a key that is neither in SECRETS_KEY nor in FORMER_SECRETS_KEYS.'
  }
  if (fault === 'broken') return 'its manifest is not what was written.'
  return name === nameOf(facts.month) ? facts : `by its manifest it is the month ${facts.month}, not ${name}.`
}

interface EntryCheck {
  readonly keys: SecretsKeys
  readonly onEntry: (entry: ChainedEntry) => void
}

async function faultOfEntries(
  path: string,
  { first, last, macBefore, mac, bytes, sha256 }: MonthFacts,
  { keys, onEntry }: EntryCheck,
): Promise<string | undefined> {
  const macs = new Map<string, Mac>(keys.map((key) => [key.id, macUnder(key)]))
  let sound: AuditHead = { count: first - 1, digest: macBefore }
  for await (const value of readArchive(path)) {
    const entry = entryIn(value)
    if (entry === undefined) return `the line behind entry ${sound.count} is no entry.`
    if (entry.seq < first || entry.seq > last) return `it has entry ${entry.seq}, which is not of this month.`
    const fault = faultOf(entry, sound, macs)
    if (fault?.fault === 'missing') return `behind entry ${sound.count} comes entry ${entry.seq}.`
    if (fault) return sentenceOf(fault)
    sound = { count: entry.seq, digest: entry.mac }
    onEntry(entry)
  }
  if (sound.count < last) return `it ends before entry ${sound.count + 1}, which was there once.`
  if (sound.digest !== mac) return `entry ${last}, or the one before it, is not what was written.`
  const sum = await sumOf(path)
  return sum.bytes === bytes && sum.sha256 === sha256 ? undefined : 'its bytes are not those that were written.'
}

const text = z.string()
const textOrNull = z.string().nullable()

/** The members that the MAC covers, all of them, so that none can be left out. */
const entrySchema = z.strictObject({
  seq: z.int(),
  at: text,
  actor: textOrNull,
  action: text,
  target: textOrNull,
  outcome: text,
  scheme: textOrNull,
  address: textOrNull,
  requestId: textOrNull,
  count: z.int(),
  reason: textOrNull,
  changes: z.array(entryChangeSchema).optional(),
  keyId: text,
  mac: text,
  journal: z.strictObject({ writer: text, first: z.int(), last: z.int(), mac: text }).optional(),
})

const entryIn = (value: unknown): ChainedEntry | undefined => entrySchema.safeParse(value).data

/** What is wrong with months that should follow each other, in the order of their numbers; undefined: they join. */
export function faultOfJoin(one: MonthFacts, next: MonthFacts): string | undefined {
  if (next.first <= one.last) return `the months ${one.month} and ${next.month} both have entry ${next.first}.`
  if (next.first > one.last + 1) {
    return `between the months ${one.month} and ${next.month} entries ${one.last + 1} to ${next.first - 1} are missing.`
  }
  return next.macBefore === one.mac
    ? undefined
    : `the months ${one.month} and ${next.month} are not of the same log: entry ${one.last} is another one.`
}
