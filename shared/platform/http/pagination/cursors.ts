/**
 * Cursors of lists: where a page ended, signed together with the query that it was a page of. A cursor that was changed, cut off, made by
 * somebody else or for another query is refused, so that a position that comes back is one that a store has made. What it holds is not
 * secret: the client has seen it in the page.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { deriveKey } from '../../crypto/derive-key.ts'
import type { Position } from '../../pagination.ts'
import { Refused } from '../../problems/errors.ts'

/** Which list a cursor belongs to. */
export interface ListScope {
  /** The kind of list, such as `users`. */
  readonly list: string
  /** Filters and order in one form for all spellings of the same query; `limit` is not among them. */
  readonly query?: Readonly<Record<string, unknown>>
}

export interface Cursors {
  /** base64url. */
  write(scope: ListScope, position: Position): string
  /** @throws Refused `invalid-cursor` */
  read(scope: ListScope, cursor: string): Position
}

/** What keys are derived for. Another form of positions needs another number. */
export const cursorPurpose = 'list cursors 1'

/** A key for cursors from a secret that has other uses too (HKDF-SHA256, RFC 5869). */
export const cursorKeyOf = (secret: string): Buffer => deriveKey(secret, cursorPurpose)

const macBytes = 32

/** Cursors under these keys: the first signs, all verify. A cursor is the HMAC-SHA256 and behind it the position as JSON. */
export function createCursors(keys: readonly Buffer[]): Cursors {
  const [current] = keys
  if (!current) throw new TypeError('cursors need a key')
  return {
    write: (scope, position) => {
      const content = Buffer.from(JSON.stringify(position))
      return Buffer.concat([macOf(current, scope, content), content]).toString('base64url')
    },
    read: (scope, cursor) => {
      const bytes = Buffer.from(cursor, 'base64url')
      // Decoding passes over what is not base64url, and over spare bits: one cursor has one spelling.
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

const invalidCursor = () => {
  const message = 'The cursor is not one of this query: begin again without it.'
  return new Refused('invalid-cursor', message, {
    members: { errors: [{ pointer: '/cursor', code: 'invalid-cursor', message }] },
  })
}
