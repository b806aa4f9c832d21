/** How far an import has come, in a file beside its own: another run goes on there. */
import { randomUUID } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import * as z from 'zod'
import { systemClock } from '../../shared/platform/clock.ts'
import { placeOf, writeTextWhole } from '../../shared/platform/files/whole-file.ts'
import { readStored } from '../../shared/platform/json.ts'

const schema = z.object({
  /** Stands for the content of the file. */
  key: z.string(),
  /** The number of rows from the start that have ended. */
  rows: z.number().int().min(0),
  done: z.number().int().min(0),
  replayed: z.number().int().min(0),
  refused: z.number().int().min(0),
  /** The length of the file of refused rows. */
  refusedBytes: z.number().int().min(0),
})

/** The state of an import. */
export type ImportState = z.output<typeof schema>

/** The state at the start of a file. */
export const newImportState = (key: string): ImportState => ({
  key,
  rows: 0,
  done: 0,
  replayed: 0,
  refused: 0,
  refusedBytes: 0,
})

interface Checkpoint {
  /** Undefined when there is none, or when it is of another content. */
  load(key: string): Promise<ImportState | undefined>
  /** Writes the state, unless it was written a moment ago. */
  save(state: ImportState, isLast?: boolean): Promise<void>
  remove(): Promise<void>
}

const intervalMs = 500

/** Opens the state in this file; without a path, nothing is kept. */
export function openCheckpoint(path: string | undefined): Checkpoint {
  if (path === undefined)
    return { load: async () => undefined, save: async () => undefined, remove: async () => undefined }
  let savedAt = Number.NEGATIVE_INFINITY
  // Two imports of one file may run at once.
  const draft = `${path}.${randomUUID()}.new`
  return {
    load: async (key) => {
      const state = readStored(schema, await readFile(path, 'utf8').catch(() => ''))
      return state?.key === key ? state : undefined
    },
    save: async (state, isLast = false) => {
      const now = systemClock.monotonic()
      if (!isLast && now - savedAt < intervalMs) return
      savedAt = now
      // A crash leaves the old state or the new one.
      await writeTextWhole(await placeOf(path), `${JSON.stringify(state)}\n`, { draft })
    },
    remove: () => rm(path, { force: true }),
  }
}
