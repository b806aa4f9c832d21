/** The file of refused rows: as they were, with the reasons. It can be corrected and imported. */
import { type FileHandle, open, rm } from 'node:fs/promises'
import { type Refusal, textOfRefusals } from '../../deal-server/files/cells.ts'

/** Writes refused rows. */
export interface RefusedRows {
  /** Appends rows, and resolves to the length of the file. `header` is that of the file; undefined for NDJSON. */
  append(refusals: readonly Refusal[], header: readonly string[] | undefined): Promise<number>
  close(): Promise<void>
}

/** Opens the file for an import that goes on after so many bytes of it; 0: there is no file until a row is refused. */
export async function openRefusedRows(path: string, bytes: number): Promise<RefusedRows> {
  let file: FileHandle | undefined
  let length = 0
  if (bytes === 0) await rm(path, { force: true })
  else {
    file = await open(path, 'r+')
    await file.truncate(bytes)
    length = bytes
  }
  return {
    append: async (refusals, header) => {
      if (refusals.length === 0) return length
      file ??= await open(path, 'w')
      const { bytesWritten } = await file.write(textOfRefusals(refusals, header, length === 0), length)
      length += bytesWritten
      return length
    },
    close: async () => file?.close(),
  }
}
