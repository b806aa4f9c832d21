/** The file of refused rows: as they were, with the reasons. It can be corrected and imported. */
import { type FileHandle, lstat, open, rm, stat, truncate } from 'node:fs/promises'
import { type Refusal, textOfRefusals } from '../../deal-server/files/cells.ts'

/** Writes refused rows. */
export interface RefusedRows {
  /** Appends rows, and resolves to the length of the file. `header` is that of the file; undefined for NDJSON. */
  append(refusals: readonly Refusal[], header: readonly string[] | undefined): Promise<number>
  close(): Promise<void>
}

/**
 * Opens the file for an import that goes on after a number of bytes of it. Rows of an earlier import are removed. A
 * link, a pipe, or a file of a mode of its own, stays what it is. Without a refused row there is no file in the end.
 */
export async function openRefusedRows(path: string, bytes: number): Promise<RefusedRows> {
  const found = await stat(path).catch(() => undefined)
  const isFile = found?.isFile() === true
  let length = isFile ? Math.min(found.size, bytes) : 0
  if (isFile) await truncate(path, length)
  let file: FileHandle | undefined
  return {
    append: async (refusals, header) => {
      if (refusals.length === 0) return length
      file ??= await open(path, 'a')
      const text = textOfRefusals(refusals, header, length === 0)
      await file.appendFile(text)
      length += Buffer.byteLength(text)
      return length
    },
    close: async () => {
      await file?.close()
      if (length === 0 && isFile && (await lstat(path)).isFile()) await rm(path)
    },
  }
}
