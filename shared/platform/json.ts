import type { z } from 'zod'

/** An object of a JSON text has the same member twice. */
export class DoubledMember extends SyntaxError {
  override readonly name = 'DoubledMember'
}

/**
 * The value of a JSON text of somebody else. An object with the same member twice is refused: programs differ in which
 * of the two they take (RFC 8259 §4). @throws SyntaxError, for such an object DoubledMember
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (colonsOf(text) !== membersOf(value)) throw new DoubledMember('An object has the same member twice.')
  return value
}

const [quote, backslash, colon] = [0x22, 0x5c, 0x3a]

/** Counts the colons outside of strings: one for each member that was written. */
function colonsOf(text: string): number {
  let count = 0
  let isString = false
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (isString && code === backslash) at += 1
    else if (code === quote) isString = !isString
    else if (code === colon && !isString) count += 1
  }
  return count
}

/** Counts the members that were read, without recursion: the value may be as deep as its text is long. */
function membersOf(value: unknown): number {
  const waiting = [value]
  let count = 0
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next !== 'object' || next === null) continue
    const parts: unknown[] = Object.values(next)
    if (!Array.isArray(next)) count += parts.length
    for (const part of parts) waiting.push(part)
  }
  return count
}

/** What a text of our own, such as an entry of the cache, holds; undefined when it has not the form of the schema. */
export function readStored<Stored>(schema: z.ZodType<Stored>, text: string): Stored | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
