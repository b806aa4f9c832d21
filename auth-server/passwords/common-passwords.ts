/** Passwords that are known from breaches, as a file beside the code (`scripts/common-passwords.mjs` makes it). Nothing is looked up elsewhere. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** So many bytes of SHA-256 stand for a password: one in five million others is taken for one of them. */
const entryBytes = 5

const file = join(import.meta.dirname, 'common-passwords.bin')

let known: Buffer | undefined

/** The sorted entries, read once, when the first new password comes: 1 MB, outside of the heap. */
const entries = (): Buffer => {
  known ??= readFileSync(file)
  return known
}

/** How many passwords are known. */
export const commonPasswordCount = (): number => entries().length / entryBytes

/** Whether this password, in NFC, is known from breaches, in whatever case. */
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
