/**
 * `operations.ndjson` in `KEYS_DIR`: who did the latest operations on the keys, when and why. The operators' tool
 * writes a note before each change of the ring. An auth server reads the notes when it finds the change, for the audit
 * log. The ring itself has no place for them: servers refuse members that they do not know.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { replaceFile } from './key-files.ts'
import { type KeyOperation, keyOperations, operationNameOf } from './key-operations.ts'

const fileName = 'operations.ndjson'

/** More notes than this are of operations that were recorded long ago. */
const maxNotes = 500

/** The largest file that is read, in bytes: many times what as many notes need. */
const maxBytes = 1_000_000

/** A text of an operator: 1 to 500 characters, none of them a control character or a lone surrogate. */
export const operatorText = z.string().regex(/^[^\p{Cc}\p{Surrogate}]{1,500}$/u)

const noteSchema = z.object({
  operation: z.enum(keyOperations),
  kid: z.string(),
  at: z.iso.datetime(),
  /** The name of the operator; null when it is not known. */
  operator: z.string().nullable(),
  reason: operatorText.nullable(),
})

/** Who did an operation, and why. */
export type OperatorNote = z.infer<typeof noteSchema>

/** An operation with its note; without a note the server itself did it. */
export interface NotedOperation extends KeyOperation {
  readonly note: OperatorNote | undefined
}

/** Reads the notes in this folder. A file or a line that cannot be read counts as none. */
async function readNotes(directory: string): Promise<OperatorNote[]> {
  const text = await readText(join(directory, fileName))
  return text.split('\n').flatMap((line) => {
    const note = noteSchema.safeParse(parsed(line))
    return note.success ? [note.data] : []
  })
}

async function readText(path: string): Promise<string> {
  try {
    const text = await readFile(path, 'utf8')
    return text.length > maxBytes ? text.slice(-maxBytes) : text
  } catch {
    return ''
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** Adds its note to each operation. Of several notes the last one counts: the others are of attempts that failed. */
export async function withNotes(directory: string, operations: readonly KeyOperation[]): Promise<NotedOperation[]> {
  const notes = new Map((await readNotes(directory)).map((note) => [operationNameOf(note), note]))
  return operations.map((operation) => ({ ...operation, note: notes.get(operationNameOf(operation)) }))
}

/** Adds notes to the file, as a whole or not at all, and leaves out the oldest. */
export async function addNotes(directory: string, notes: readonly OperatorNote[]): Promise<void> {
  const all = [...(await readNotes(directory)), ...notes].slice(-maxNotes)
  await replaceFile(join(directory, fileName), all.map((note) => `${JSON.stringify(note)}\n`).join(''))
}
