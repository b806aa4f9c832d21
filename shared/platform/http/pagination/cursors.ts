/**
 * Cursors of lists. A cursor is the position where a page ended, signed together with the query of the list. A cursor
 * that was changed, cut off, forged or made for another query is refused, so that stores get back only positions that
 * they made. Its content is not secret: the client has seen it in the page.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { deriveKey } from '../../crypto/derive-key.ts'
import type { Position } from '../../pagination.ts'
import { ProblemError } from '../../problems/errors.ts'

/** The list that a cursor belongs to. */
export interface ListScope {
  /** The kind of list, such as `users`. */
  readonly list: string
  /** Filters and order, in the same form for all spellings of a query, without `limit`. */
  readonly query?: Readonly<Record<string, unknown>>
}

/** Writes and reads cursors. */
export type Cursors = ReturnType<typeof createCursors>

/** The purpose of the derived key. A new form of positions needs a new number. */
export const cursorPurpose = 'list cursors 1'

/** Derives the key of cursors from a secret that has other uses too. */
export const cursorKeyOf = (secret: string): Buffer => deriveKey(secret, cursorPurpose)

const macBytes = 32

/**
 * Cursors under these keys: the first signs, all of them verify. A cursor is the HMAC-SHA256, followed by the position
 * as JSON.
 */
export function createCursors(keys: readonly Buffer[]) {
  const [current] = keys
  if (!current) throw new TypeError('cursors need a key')
  return {
    /** A new cursor, base64url. */
    write: (scope: ListScope, position: Position): string => {
      const content = Buffer.from(JSON.stringify(position))
      return Buffer.concat([macOf(current, scope, content), content]).toString('base64url')
    },
    /** The position in a cursor. @throws ProblemError `invalid-cursor` */
    read: (scope: ListScope, cursor: string): Position => {
      const bytes = Buffer.from(cursor, 'base64url')
      // Decoding ignores other characters and spare bits. This check accepts only one spelling of a cursor.
      if (bytes.length <= macBytes || bytes.toString('base64url') !== cursor) throw invalidCursor()
      const [mac, content] = [bytes.subarray(0, macBytes), bytes.subarray(macBytes)]
      if (!keys.some((key) => timingSafeEqual(mac, macOf(key, scope, content)))) throw invalidCursor()
      return JSON.parse(content.toString('utf8'))
    },
  }
}

function macOf(key: Buffer, { list, query = {} }: ListScope, content: Buffer): Buffer {
  const scope = JSON.stringify([list, query])
  return createHmac('sha256', key)
    .update(`${Buffer.byteLength(scope)}:${scope}`)
    .update(content)
    .digest()
}

function invalidCursor(): ProblemError {
  const message = 'The cursor is not one of this query: begin again without it.'
  return new ProblemError('invalid-cursor', message, {
    members: { errors: [{ pointer: '/cursor', code: 'invalid-cursor', message }] },
  })
}
