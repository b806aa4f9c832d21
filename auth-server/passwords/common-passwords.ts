/**
 * The passwords known from breaches, in a file beside the code (made by `scripts/common-passwords.mjs`). Asks no other
 * service.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectFolder } from '../../shared/platform/project-folder.ts'

/** Bytes of SHA-256 stored for a password: one in five million other passwords is refused by mistake. */
const entryBytes = 5

const file = join(projectFolder, 'auth-server/passwords/common-passwords.bin')

let known: Buffer | undefined

/** The sorted entries. They are read once, for the first new password: 1 MB, outside the heap. */
const entries = (): Buffer => {
  known ??= readFileSync(file)
  return known
}

/** The number of known passwords. */
export const commonPasswordCount = (): number => entries().length / entryBytes

/** True when this password, in NFC, is known from breaches, in upper or lower case. */
export function isCommonPassword(password: string): boolean {
  const wanted = createHash('sha256').update(password.toLowerCase()).digest().readUIntBE(0, entryBytes)
  const sorted = entries()
  let [from, to] = [0, sorted.length / entryBytes]
  while (from < to) {
    const middle = (from + to) >>> 1
    const found = sorted.readUIntBE(middle * entryBytes, entryBytes)
    if (found === wanted) return true
    if (found < wanted) from = middle + 1
    else to = middle
  }
  return false
}
