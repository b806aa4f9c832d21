/** Bodies with many JSON values: one in each line (NDJSON), or the members of an array. */
import { ProblemError } from '../../problems/errors.ts'
import type { HttpRequest } from '../request.ts'
import { decodeJson, isJsonType, mediaTypeOf, refuseCompression } from './json-body.ts'

/** The media type of NDJSON in responses. */
export const ndjson = 'application/x-ndjson'

/** All names of NDJSON that clients use; none is registered. */
export const ndjsonTypes: readonly string[] = [ndjson, 'application/ndjson', 'application/jsonl']

/** Reads one value when it is needed. @throws ProblemError `invalid-body`, `body-too-large` for a line */
export type ReadItem = () => unknown

/** The values of a body. */
export interface JsonItems {
  readonly form: 'array' | 'lines'
  readonly items: readonly ReadItem[]
}

/** The largest sizes of a body with many values. */
export interface ItemLimits {
  readonly maxItems: number
  readonly maxLineBytes: number
  /** The refusal of more than `maxItems` values. */
  readonly onTooMany: () => ProblemError
}

/**
 * Finds the values of the body. Blank lines are none. Lines are parsed one by one, when their values are needed, so
 * that a wrong line spoils no other and a large body does not hold up other requests.
 * @throws ProblemError `unsupported-media-type`, `invalid-body`, `onTooMany`
 */
export async function readJsonItems(request: HttpRequest, limits: ItemLimits): Promise<JsonItems> {
  const { type, isUtf8 } = mediaTypeOf(request)
  const isLines = ndjsonTypes.includes(type)
  if (!isUtf8 || !(isLines || isJsonType(type))) throw wrongType()
  refuseCompression(request)
  const bytes = await request.readBody()
  return isLines
    ? { form: 'lines', items: linesOf(bytes, limits) }
    : { form: 'array', items: membersOf(decodeJson(bytes), limits) }
}

const wrongType = () =>
  new ProblemError('unsupported-media-type', `Send ${ndjson}, or an array as application/json, in UTF-8.`, {
    headers: { accept: `${ndjson}, application/json` },
  })

function membersOf(value: unknown, { maxItems, onTooMany }: ItemLimits): ReadItem[] {
  if (!Array.isArray(value)) throw new ProblemError('invalid-body', 'The body is not an array.')
  if (value.length > maxItems) throw onTooMany()
  return value.map((member: unknown) => () => member)
}

const lineFeed = 0x0a
/** Space, tab and carriage return: a line of them alone is blank. */
const blanks: ReadonlySet<number> = new Set([0x20, 0x09, 0x0d])
const byteOrderMark = Buffer.from('\ufeff')

function linesOf(bytes: Buffer, { maxItems, maxLineBytes, onTooMany }: ItemLimits): ReadItem[] {
  const items: ReadItem[] = []
  const start = bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? byteOrderMark.length : 0
  let [begin, isBlank] = [start, true]
  for (let index = start; index <= bytes.length; index += 1) {
    const byte = bytes[index] ?? lineFeed
    if (byte !== lineFeed) isBlank &&= blanks.has(byte)
    else {
      if (!isBlank) items.push(readLine(bytes.subarray(begin, index), maxLineBytes))
      if (items.length > maxItems) throw onTooMany()
      begin = index + 1
      isBlank = true
    }
  }
  return items
}

const readLine =
  (line: Buffer, maxBytes: number): ReadItem =>
  () => {
    if (line.length <= maxBytes) return decodeJson(line, 'line')
    throw new ProblemError('body-too-large', `A line may have at most ${maxBytes} bytes.`)
  }
