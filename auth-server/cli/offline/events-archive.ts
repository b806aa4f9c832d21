/** Writes events of deals into sealed files, checks such files, and removes events that are in them. */
import * as z from 'zod'
import {
  type EventRow,
  type EventSelection,
  readEvents,
  removeEvents,
} from '../../../deal-server/retention/removable-events.ts'
import {
  ArchiveDamaged,
  archiveName,
  archivePath,
  readArchive,
  readManifest,
  sumOf,
  writeArchive,
  writeManifest,
} from '../../../shared/platform/archive/archive-file.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import type { OnProgress } from '../../../shared/platform/terminal/progress.ts'
import { OperationFailed } from '../../../shared/platform/terminal/report.ts'
import { faultOfSeal, sealWith } from '../../audit/archive-seal.ts'
import type { SecretsKeys } from '../../store/secrets-keys.ts'

const format = 'keyhold-events/1'
const purpose = 'events'

const factsSchema = z.strictObject({
  format: z.literal(format),
  /** The name of the file, without its ending. */
  name: z.string(),
  /** The positions of the first and the last event. */
  first: z.int().min(1),
  last: z.int().min(1),
  events: z.int().min(1),
  bytes: z.int(),
  sha256: z.string(),
})

const manifestSchema = z.strictObject({ ...factsSchema.shape, keyId: z.string(), seal: z.string() })

/** What the manifest of a file says, without its seal. */
export type EventFileFacts = z.infer<typeof factsSchema>

/** The systems that the archiving uses. */
export interface EventArchivePorts {
  readonly database: Pick<Database, 'readWithin' | 'write'>
  readonly secretsKeys: SecretsKeys
  readonly signal: AbortSignal
  readonly onProgress?: OnProgress
  /** Events of one file; 500,000 when left out. */
  readonly fileSize?: number
}

/** What is archived, and where to. */
export interface EventArchiveRequest extends EventSelection {
  readonly directory: string
  /** The beginning of the names of the files. */
  readonly prefix: string
  readonly remove: boolean
}

/** A file that was read back, and how many of its events were removed. */
export interface ArchivedEvents extends EventFileFacts {
  readonly path: string
  readonly removed: number
}

/** Events for one statement of the removal. */
const batchSize = 1_000

/**
 * Archives events in files of some size each. Those of a file are removed when it was read back and checked.
 * @throws OperationFailed when a file reads otherwise than it was written; Unavailable
 */
export async function archiveEvents(ports: EventArchivePorts, request: EventArchiveRequest): Promise<ArchivedEvents[]> {
  const { database, fileSize = 500_000 } = ports
  const events = readEvents(database, request, ports)
  const files: ArchivedEvents[] = []
  for (let next = await events.next(); !next.done; ) {
    const name = `${request.prefix}-${String(files.length + 1).padStart(4, '0')}`
    const path = archivePath(request.directory, name)
    const part = partOf(events, next.value, fileSize)
    const facts = await writeFile(path, { name, events: part.rows() }, ports)
    const { fault } = await verifyEventFile(path, ports.secretsKeys)
    if (fault !== undefined) throw new OperationFailed(`${path}: ${fault}`)
    files.push({ ...facts, path, removed: request.remove ? await removeFrom(path, ports) : 0 })
    next = part.next()
  }
  return files
}

/** So many events, and then the one behind them. */
function partOf(events: AsyncGenerator<EventRow>, first: EventRow, size: number) {
  let next: IteratorResult<EventRow> = { done: false, value: first }
  return {
    async *rows(): AsyncGenerator<EventRow> {
      for (let count = 0; count < size && !next.done; count += 1) {
        yield next.value
        next = await events.next()
      }
    },
    next: () => next,
  }
}

interface FileContent {
  readonly name: string
  readonly events: AsyncIterable<EventRow>
}

async function writeFile(
  path: string,
  { name, events }: FileContent,
  { secretsKeys, signal }: Pick<EventArchivePorts, 'secretsKeys' | 'signal'>,
): Promise<EventFileFacts> {
  let [first, last, count] = [0, 0, 0]
  async function* counted(): AsyncGenerator<EventRow> {
    for await (const event of events) {
      if (count === 0) first = event.position
      last = event.position
      count += 1
      yield event
    }
  }
  const sum = await writeArchive(path, counted(), signal)
  const facts: EventFileFacts = { format, name, first, last, events: count, ...sum }
  await writeManifest(path, { ...facts, ...sealWith(secretsKeys[0], purpose, facts) })
  return facts
}

async function removeFrom(path: string, { database, signal }: EventArchivePorts): Promise<number> {
  let [removed, batch] = [0, [] as EventRow[]]
  const flush = async () => {
    signal.throwIfAborted()
    removed += await removeEvents(database, batch)
    batch = []
  }
  for await (const value of readArchive(path)) {
    batch.push(value as EventRow)
    if (batch.length === batchSize) await flush()
  }
  await flush()
  return removed
}

/** What became of the check of a file. */
export interface EventFileVerdict {
  readonly path: string
  /** What the manifest says; undefined when it cannot be believed. */
  readonly facts: EventFileFacts | undefined
  /** What is wrong, as a sentence that begins in lower case. */
  readonly fault: string | undefined
}

const eventSchema = z.looseObject({ position: z.int(), id: z.string() })

/** Checks a file alone: its manifest, the order of its events, and its bytes. */
export async function verifyEventFile(path: string, keys: SecretsKeys): Promise<EventFileVerdict> {
  try {
    const found = await readFacts(path, keys)
    if (typeof found === 'string') return { path, facts: undefined, fault: found }
    return { path, facts: found, fault: await faultOfEvents(path, found) }
  } catch (error) {
    if (error instanceof ArchiveDamaged) return { path, facts: undefined, fault: error.message }
    throw error
  }
}

/** What the manifest says, or what is wrong with it. */
async function readFacts(path: string, keys: SecretsKeys): Promise<EventFileFacts | string> {
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
  return name === facts.name ? facts : `by its manifest it is ${facts.name}, not ${name}.`
}

async function faultOfEvents(path: string, facts: EventFileFacts): Promise<string | undefined> {
  let [position, count] = [facts.first - 1, 0]
  for await (const value of readArchive(path)) {
    const event = eventSchema.safeParse(value).data
    if (event === undefined) return `line ${count + 1} is no event.`
    if (event.position <= position) return `behind the event at ${position} comes the one at ${event.position}.`
    if (event.position > facts.last) return `it has the event at ${event.position}, which is not of this file.`
    position = event.position
    count += 1
  }
  if (count !== facts.events) return `it has ${count} events; it had ${facts.events}.`
  const { bytes, sha256 } = await sumOf(path)
  return bytes === facts.bytes && sha256 === facts.sha256 ? undefined : 'its bytes are not those that were written.'
}
