/** Reads a file of deals that was uploaded, as the command line reads it (docs/import-export.md). */
import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Refusal } from '../../deal-server/files/cells.ts'
import { stateNames } from '../../deal-server/files/columns.ts'
import type { RowOutcome } from '../../deal-server/files/outcomes.ts'
import { type FileFormat, type Row, readRows } from '../../deal-server/files/rows.ts'
import { UnreadableFile } from '../../shared/platform/files/lines.ts'
import { NoText } from '../../shared/platform/files/text-decoder.ts'

/** The largest file of the page: rows of one batch, and bytes. */
export const maxRows = 1000
export const maxBytes = 1024 * 1024
/** What is parsed in one go. */
const pieceBytes = 8 * 1024

/** A file as the reader gave it. */
export interface SentFile {
  /** With line breaks of one form: a form that is sent again changes them. */
  readonly text: string
  readonly format: FileFormat
  readonly delimiter: string
}

/** The rows of a file. */
export interface FileRows {
  readonly rows: readonly Row[]
  /** Of CSV. */
  readonly header: readonly string[] | undefined
  /** Columns that an import leaves out. */
  readonly leftOut: readonly string[]
}

/** Reads all rows, or says why the file as a whole cannot be imported. */
export async function readFile({ text, format, delimiter }: SentFile): Promise<FileRows | { readonly fault: string }> {
  let header: readonly string[] | undefined
  // The same file has the same command ids in each run, as by the command line.
  const key = `import.${hash('sha256', text, 'base64url').slice(0, 32)}`
  const rows: Row[] = []
  const onHeader = (found: readonly string[] | undefined) => {
    header = found
  }
  try {
    for await (const row of readRows(Readable.from(piecesOf(text)), { format, delimiter, key, onHeader })) {
      rows.push(row)
      if (rows.length > maxRows)
        return { fault: `The file has more than ${String(maxRows)} rows. Use the command line, or several files.` }
    }
  } catch (error) {
    if (error instanceof UnreadableFile || error instanceof NoText) return { fault: error.message }
    throw error
  }
  return rows.length === 0 ? { fault: 'The file has no rows.' } : { rows, header, leftOut: stateNames(header) }
}

/** The file in pieces, one in each turn of the event loop: other requests need not wait until the last one is read. */
async function* piecesOf(text: string): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    yield bytes.subarray(at, at + pieceBytes)
    await nextTurn()
  }
}

/** The rows that can be sent. */
export const commandsOf = ({ rows }: FileRows) => rows.flatMap(({ command }) => command ?? [])

/** How an import, or its check, ended. */
export interface Sorted {
  readonly done: number
  /** Of these, how many were done before. */
  readonly replayed: number
  readonly refused: readonly Refusal[]
}

/** Sorts rows by the outcomes of those that were sent, in their order. */
export function sortRows({ rows }: FileRows, outcomes: readonly RowOutcome[]): Sorted {
  const refused: Refusal[] = []
  let [sent, done, replayed] = [0, 0, 0]
  for (const row of rows) {
    if (row.command === undefined) refused.push({ row, status: 0, code: 'invalid-row', reason: row.fault ?? '' })
    else {
      const outcome = outcomes[sent]
      sent += 1
      if (outcome?.is === 'done') {
        done += 1
        if (outcome.replayed) replayed += 1
      } else {
        const { status, code, reason } = outcome ?? noOutcome
        refused.push({ row, status, code, reason })
      }
    }
  }
  return { done, replayed, refused }
}

const noOutcome = { status: 0, code: 'no-outcome', reason: 'The server told no outcome.' }
