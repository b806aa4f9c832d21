/**
 * Imports the rows of a file as commands. Several batches are under way at once; their outcomes are recorded in the
 * order of the file, so that an import that broke off goes on where all rows before had ended.
 */
import { createHash } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Refusal } from '../../deal-server/files/cells.ts'
import { stateNames } from '../../deal-server/files/columns.ts'
import { dealOf, type RowOutcome } from '../../deal-server/files/outcomes.ts'
import { type FileFormat, type Row, type RowCommand, readRows } from '../../deal-server/files/rows.ts'
import { createTextDecoder } from '../../shared/platform/files/text-decoder.ts'
import { type ImportState, newImportState, openCheckpoint } from './checkpoint.ts'
import type { DealServer, Patience } from './deal-server.ts'
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
  /** The start of command ids, instead of one from the content. */
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

/** Imports a file. @throws UnreadableFile, NoText, refusals of the whole, and when the server stays away */
export async function importDeals(server: DealServer, options: ImportOptions): Promise<ImportResult> {
  const { file } = options
  const kept = file !== undefined && canBeReadAgain(file) ? file : undefined
  const content = kept === undefined ? undefined : await readAhead(kept)
  const key = options.key ?? `import.${content?.sha256.slice(0, 32) ?? crypto.randomUUID()}`
  const checkpoint = openCheckpoint(kept && `${kept}.progress`)
  const earlier = options.fromBegin ? undefined : await checkpoint.load(key)
  const state = { ...(earlier ?? newImportState(key)) }
  if (state.rows > 0) options.onResume(state.rows)
  const refused = await openRefusedRows(options.refusedFile, state.refusedBytes)
  const opened = file === undefined ? undefined : createReadStream(file)
  const progress = options.startProgress(content?.bytes, state.rows)
  const record = async (result: BatchResult) => {
    await recordBatch(state, result, refused)
    await checkpoint.save(state)
    progress.update({ done: opened?.bytesRead ?? 0, rows: state.rows })
  }
  try {
    await sendRows(server, { input: opened ?? options.input, options: { ...options, key }, skip: state.rows, record })
    await refused.close()
    await checkpoint.remove()
  } catch (error) {
    // Whatever keeps this from being written, such as a full disk, is no reason to hide the first error.
    await Promise.allSettled([checkpoint.save(state, true), refused.close()])
    throw error
  } finally {
    progress.stop()
    opened?.destroy()
  }
  const { rows, done, replayed, refused: count } = state
  return { rows, done, replayed, refused: count }
}

/** True for a file, beside which others may be; false for a pipe, a device, and what `/dev/stdin` or `/dev/fd/3` is. */
export const canBeReadAgain = (path: string): boolean =>
  !/^\/(?:dev\/(?:fd\/|std)|proc\/)/.test(resolve(path)) && statSync(path).isFile()

/** Reads a whole file, before anything is sent: what its content is known by, and whether it is text. @throws NoText */
async function readAhead(file: string): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const digest = createHash('sha256')
  const decode = createTextDecoder()
  let bytes = 0
  for await (const piece of createReadStream(file) as AsyncIterable<Buffer>) {
    digest.update(piece)
    decode(piece)
    bytes += piece.length
  }
  decode()
  return { bytes, sha256: digest.digest('base64url') }
}

/** A batch that has ended. */
interface BatchResult {
  readonly rows: readonly Row[]
  readonly outcomes: ReadonlyMap<Row, RowOutcome>
  readonly header: readonly string[] | undefined
}

async function recordBatch(state: ImportState, { rows, outcomes, header }: BatchResult, refused: RefusedRows) {
  const refusals: Refusal[] = []
  let [done, replayed] = [0, 0]
  for (const row of rows) {
    const outcome = outcomes.get(row)
    if (outcome?.is === 'done') {
      done += 1
      if (outcome.replayed) replayed += 1
    } else {
      const { status, code, reason } = outcome ?? { status: 0, code: 'invalid-row', reason: row.fault ?? '' }
      refusals.push({ row, status, code, reason })
    }
  }
  // Nothing counts before its refused rows are written.
  state.refusedBytes = await refused.append(refusals, header)
  state.refused += refusals.length
  state.done += done
  state.replayed += replayed
  state.rows += rows.length
}

interface Sending {
  readonly input: NodeJS.ReadableStream
  readonly options: ImportOptions & { readonly key: string }
  /** The number of rows from the start that had ended before. */
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

/** Batches under way: several at once, those with the same deal one after another, recorded in order. */
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
