/**
 * Imports the rows of a file as commands. Several batches are under way at once; their outcomes are recorded in the
 * order of the file, so that an import that broke off goes on where all rows before had ended.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import type { Refusal } from '../../deal-server/files/cells.ts'
import { stateNames } from '../../deal-server/files/columns.ts'
import { dealOf, type RowOutcome } from '../../deal-server/files/outcomes.ts'
import { type FileFormat, type Row, type RowCommand, readRows } from '../../deal-server/files/rows.ts'
import { beginning, type ImportState, openCheckpoint } from './checkpoint.ts'
import { asFailure, type DealServer, type Patience } from './deal-server.ts'
import type { Progress } from './progress.ts'
import { openRefusedRows, type RefusedRows } from './refused-rows.ts'
import { sendBatch } from './send-batch.ts'

/** What is imported, and how. */
export interface ImportOptions extends Patience {
  /** The path; undefined: `input` is read, and nothing is kept of how far it came. */
  readonly file: string | undefined
  readonly input: NodeJS.ReadableStream
  readonly format: FileFormat
  readonly delimiter: string
  /** The begin of command ids, instead of one from the content. */
  readonly key: string | undefined
  readonly refusedFile: string
  /** Rows of one batch. */
  readonly batchRows: number
  /** Batches under way at once. */
  readonly batches: number
  /** Begins again at the first row. */
  readonly fromBegin: boolean
  startProgress(total: number | undefined, rowsBefore: number): Progress
  /** Called with the columns of the file that an import leaves out. */
  onIgnored(names: readonly string[]): void
  /** Called when the import goes on after rows of an earlier run. */
  onResume(rows: number): void
}

/** How an import ended. */
export type ImportResult = Omit<ImportState, 'key' | 'refusedBytes'>

/** Imports a file. @throws UnreadableFile, refusals of the whole, and when the server stays away */
export async function importDeals(server: DealServer, options: ImportOptions): Promise<ImportResult> {
  try {
    return await importRows(server, options)
  } catch (error) {
    throw asFailure(error)
  }
}

async function importRows(server: DealServer, options: ImportOptions): Promise<ImportResult> {
  const { file } = options
  const total = file === undefined ? undefined : (await stat(file)).size
  const key = options.key ?? (await keyOf(file))
  const checkpoint = openCheckpoint(file && `${file}.progress`)
  const earlier = options.fromBegin ? undefined : await checkpoint.load(key)
  const state = { ...(earlier ?? beginning(key)) }
  if (state.rows > 0) options.onResume(state.rows)
  const refused = await openRefusedRows(options.refusedFile, state.refusedBytes)
  const opened = file === undefined ? undefined : createReadStream(file)
  const progress = options.startProgress(total, state.rows)
  const record = async (result: BatchResult) => {
    await recordBatch(state, result, refused)
    await checkpoint.save(state)
    progress.update({ done: opened?.bytesRead ?? 0, rows: state.rows })
  }
  try {
    await sendRows(server, { input: opened ?? options.input, options: { ...options, key }, skip: state.rows, record })
    await checkpoint.remove()
  } catch (error) {
    await checkpoint.save(state, true)
    throw error
  } finally {
    progress.stop()
    await refused.close()
    opened?.destroy()
  }
  const { rows, done, replayed, refused: count } = state
  return { rows, done, replayed, refused: count }
}

/** A key that stands for the content of the file; of no file, a random one. */
async function keyOf(file: string | undefined): Promise<string> {
  if (file === undefined) return `import.${crypto.randomUUID()}`
  const digest = createHash('sha256')
  await pipeline(createReadStream(file), digest)
  return `import.${digest.digest('base64url').slice(0, 32)}`
}

/** A batch that has ended. */
interface BatchResult {
  readonly rows: readonly Row[]
  readonly outcomes: ReadonlyMap<Row, RowOutcome>
  readonly header: readonly string[] | undefined
}

async function recordBatch(state: ImportState, { rows, outcomes, header }: BatchResult, refused: RefusedRows) {
  const refusals: Refusal[] = []
  for (const row of rows) {
    const outcome = outcomes.get(row)
    if (outcome?.is === 'done') {
      state.done += 1
      if (outcome.replayed) state.replayed += 1
    } else {
      const { status, code, reason } = outcome ?? { status: 0, code: 'invalid-row', reason: row.fault ?? '' }
      refusals.push({ row, status, code, reason })
    }
  }
  state.refusedBytes = await refused.append(refusals, header)
  state.refused += refusals.length
  state.rows += rows.length
}

interface Sending {
  readonly input: NodeJS.ReadableStream
  readonly options: ImportOptions & { readonly key: string }
  /** So many rows from the begin have ended before. */
  readonly skip: number
  record(result: BatchResult): Promise<void>
}

/** A batch is smaller than `batchRows` when its rows are long: the server takes 4 MiB. */
const maxBatchBytes = 1024 * 1024

async function sendRows(server: DealServer, { input, options, skip, record }: Sending): Promise<void> {
  let header: readonly string[] | undefined
  const onHeader = (found: readonly string[] | undefined) => {
    header = found
    const ignored = stateNames(found)
    if (ignored.length > 0) options.onIgnored(ignored)
  }
  const underWay = createUnderWay(options.batches)
  let [batch, size]: [Row[], number] = [[], 0]
  const flush = async () => {
    const rows = batch
    batch = []
    size = 0
    if (rows.length > 0) {
      await underWay.add(rows, async (earlier) => {
        const outcomes = await send(server, rows, options)
        await earlier
        await record({ rows, outcomes, header })
      })
    }
  }
  try {
    for await (const row of readRows(input, { ...options, onHeader })) {
      options.signal?.throwIfAborted()
      if (row.number > skip) {
        batch.push(row)
        size += typeof row.source === 'string' ? row.source.length : row.source.join('').length + 200
        if (batch.length >= options.batchRows || size > maxBatchBytes) await flush()
      }
    }
    await flush()
  } finally {
    await underWay.end()
  }
}

async function send(server: DealServer, rows: readonly Row[], patience: Patience): Promise<Map<Row, RowOutcome>> {
  const sent = rows.filter((row): row is Row & { readonly command: RowCommand } => row.command !== undefined)
  const outcomes = await sendBatch(
    server,
    sent.map(({ command }) => command),
    patience,
  )
  return new Map(sent.flatMap((row, index) => (outcomes[index] ? [[row, outcomes[index]] as const] : [])))
}

/** Batches under way: so many at once, those with the same deal one after another, recorded in order. */
function createUnderWay(max: number) {
  interface Batch {
    readonly deals: ReadonlySet<string>
    readonly ended: Promise<void>
  }
  /** At most `max`. */
  let open: Batch[] = []
  return {
    /** Resolves when the batch has begun. @throws the error of an earlier batch */
    add: async (rows: readonly Row[], work: (earlier: Promise<unknown>) => Promise<void>): Promise<void> => {
      const deals = new Set(rows.flatMap(({ command }) => (command && dealOf(command)) ?? []))
      const mustWait = () =>
        open.length >= max || open.some((other) => [...deals].some((deal) => other.deals.has(deal)))
      while (mustWait()) {
        await open[0]?.ended
        open = open.slice(1)
      }
      const ended = work(Promise.resolve(open.at(-1)?.ended))
      ended.catch(() => undefined)
      open = [...open, { deals, ended }]
    },
    /** Resolves when all have ended. @throws the error of the first that failed */
    end: async (): Promise<void> => {
      const results = await Promise.allSettled(open.map(({ ended }) => ended))
      const failed = results.find((result) => result.status === 'rejected')
      if (failed) throw failed.reason
    },
  }
}
