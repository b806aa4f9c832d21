/** Bodies with many JSON values: one in each line (NDJSON), or the members of an array. */
import { ProblemError } from '../../problems/errors.ts'
import type { HttpRequest } from '../request.ts'
import { type AmendJson, decodeJson, isJsonType, mediaTypeOf, refuseCompression } from './json-body.ts'

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

interface ItemLimits {
  readonly maxItems: number
  readonly maxLineBytes: number
  /** An array is parsed in one piece. */
  readonly maxArrayBytes: number
  /** The refusal of more than `maxItems` values. */
  readonly onTooMany: () => ProblemError
  /** What is changed in each line, or in the array, before it is parsed. */
  readonly amend?: AmendJson
}

/**
 * Finds the values of the body. Blank lines are skipped. Lines are parsed one by one, when their values are needed, so
 * that a wrong line spoils no other and a large body does not hold up other requests.
 * @throws ProblemError `unsupported-media-type`, `invalid-body`, `body-too-large` for an array, `onTooMany`
 */
export async function readJsonItems(request: HttpRequest, limits: ItemLimits): Promise<JsonItems> {
  const { type, isUtf8 } = mediaTypeOf(request)
  const isLines = ndjsonTypes.includes(type)
  if (!isUtf8 || !(isLines || isJsonType(type))) throw wrongType()
  refuseCompression(request)
  const bytes = await request.readBody()
  return isLines ? { form: 'lines', items: linesOf(bytes, limits) } : { form: 'array', items: membersOf(bytes, limits) }
}

const wrongType = () =>
  new ProblemError('unsupported-media-type', `Send ${ndjson}, or an array as application/json, in UTF-8.`, {
    headers: { accept: `${ndjson}, application/json` },
  })

function membersOf(bytes: Buffer, { maxItems, maxArrayBytes, onTooMany, amend }: ItemLimits): ReadItem[] {
  if (bytes.length > maxArrayBytes) {
    throw new ProblemError(
      'body-too-large',
      `An array may have at most ${maxArrayBytes} bytes: send ${ndjson} for more.`,
    )
  }
  if (hasMoreMembers(bytes, maxItems)) throw onTooMany()
  const value = decodeJson(bytes, 'body', amend)
  if (!Array.isArray(value)) throw new ProblemError('invalid-body', 'The body is not an array.')
  return value.map((member: unknown) => () => member)
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const opening: ReadonlySet<number> = new Set([0x5b, 0x7b])
const closing: ReadonlySet<number> = new Set([0x5d, 0x7d])

/** Counts the members of the outermost array or object, without making them. */
function hasMoreMembers(bytes: Buffer, most: number): boolean {
  let [depth, commas, isText] = [0, 0, false]
  for (let index = 0; index < bytes.length && commas < most; index += 1) {
    const byte = bytes[index] as number
    if (isText && byte === backslash) index += 1
    else if (byte === quote) isText = !isText
    else if (isText) continue
    else if (opening.has(byte)) depth += 1
    else if (closing.has(byte)) depth -= 1
    else if (byte === comma && depth === 1) commas += 1
  }
  return commas >= most
}

const lineFeed = 0x0a
/** Space, tab and carriage return: a line of them alone is blank. */
const blanks: ReadonlySet<number> = new Set([0x20, 0x09, 0x0d])
const byteOrderMark = Buffer.from('\ufeff')

function linesOf(bytes: Buffer, { maxItems, maxLineBytes, onTooMany, amend }: ItemLimits): ReadItem[] {
  const items: ReadItem[] = []
  const start = bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? byteOrderMark.length : 0
  let [begin, isBlank] = [start, true]
  for (let index = start; index <= bytes.length; index += 1) {
    const byte = bytes[index] ?? lineFeed
    if (byte !== lineFeed) isBlank &&= blanks.has(byte)
    else {
      if (!isBlank) items.push(readLine(bytes.subarray(begin, index), maxLineBytes, amend))
      if (items.length > maxItems) throw onTooMany()
      begin = index + 1
      isBlank = true
    }
  }
  return items
}

const readLine =
  (line: Buffer, maxBytes: number, amend?: AmendJson): ReadItem =>
  () => {
    if (line.length <= maxBytes) return decodeJson(line, 'line', amend)
    throw new ProblemError('body-too-large', `A line may have at most ${maxBytes} bytes.`)
  }
