/** Text out of the bytes of a file. A byte that is no text is refused with its place; U+FFFD would stay in the data. */
import { isUtf8 } from 'node:buffer'
import { OperatorError } from '../operator-error.ts'

/** A file that is no text. The message says where, and how to save it. */
export class NoText extends OperatorError {}

const utf8Mark = Buffer.from('\ufeff')
const utf16Mark = Buffer.from('\ufeff', 'utf16le')
const replacement = Buffer.from('\ufffd')

const [lineFeed, carriageReturn] = [0x0a, 0x0d]

type Encoding = 'utf8' | 'utf16le'

/**
 * Makes a reader of one file, which takes it piece by piece, and in the end nothing. It reads UTF-8, and little-endian
 * UTF-16 with a byte order mark. The mark is left out. No piece of text ends between CR and LF. @throws NoText
 */
export function createTextDecoder(): (piece?: Uint8Array) => string {
  let encoding: Encoding | undefined
  let rest = Buffer.alloc(0)
  /** Where the next text begins: its line, and the octets of the line before it. */
  let [line, octets] = [1, 0]
  const goOver = (text: string) => {
    let begin = 0
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at)
      if (code === lineFeed || (code === carriageReturn && text.charCodeAt(at + 1) !== lineFeed)) {
        line += 1
        begin = at + 1
      }
    }
    octets = (begin === 0 ? octets : 0) + Buffer.byteLength(text.slice(begin), encoding)
  }
  return (piece) => {
    const all = piece ? Buffer.concat([rest, piece]) : rest
    rest = all
    if (encoding === undefined && piece && all.length < utf8Mark.length) return ''
    const begin = encoding === undefined ? beginOf(all) : undefined
    encoding ??= begin?.encoding ?? 'utf8'
    const bytes = all.subarray(begin?.length ?? 0, piece ? wholeLength(all, encoding) : all.length)
    rest = all.subarray((begin?.length ?? 0) + bytes.length)
    const text = bytes.toString(encoding)
    const fault = faultIn(text, bytes, encoding)
    goOver(text.slice(0, fault))
    if (fault === undefined) return text
    const octet = bytes[Buffer.byteLength(text.slice(0, fault), encoding)] ?? 0
    const hex = octet.toString(16).toUpperCase().padStart(2, '0')
    throw new NoText(
      `Line ${line} is no text in ${encoding === 'utf8' ? 'UTF-8' : 'UTF-16'}: octet ${octets + 1} of it is 0x${hex}. ` +
        'Save the file as UTF-8 ("CSV UTF-8" in Excel), and try again.',
    )
  }
}

/** The encoding that the first bytes tell, and the length of the mark. */
function beginOf(bytes: Buffer): { readonly encoding: Encoding; readonly length: number } {
  const has = (mark: Buffer) => bytes.subarray(0, mark.length).equals(mark)
  if (has(utf16Mark)) return { encoding: 'utf16le', length: utf16Mark.length }
  return { encoding: 'utf8', length: has(utf8Mark) ? utf8Mark.length : 0 }
}

/** The length without a character at the end of which more bytes may come, and without a CR. */
function wholeLength(bytes: Buffer, encoding: Encoding): number {
  const { length } = bytes
  if (encoding === 'utf16le') {
    const end = length - (length % 2)
    const last = end === 0 ? 0 : bytes.readUInt16LE(end - 2)
    return last === carriageReturn || (last >= 0xd800 && last < 0xdc00) ? end - 2 : end
  }
  if (bytes.at(-1) === carriageReturn) return length - 1
  for (let back = 1; back <= 3; back += 1) {
    const octet = bytes.at(-back) ?? 0
    // The first byte of a character says how many there are.
    if (octet >= 0xc0) return back < (octet >= 0xf0 ? 4 : octet >= 0xe0 ? 3 : 2) ? length - back : length
    if (octet < 0x80) return length
  }
  return length
}

/** Where in the text the first character is that the bytes do not have, or a NUL; undefined when there is none. */
function faultIn(text: string, bytes: Buffer, encoding: Encoding): number | undefined {
  const isCut = encoding === 'utf16le' && bytes.length % 2 === 1
  if (encoding === 'utf8' && isUtf8(bytes) && !text.includes('\0')) return undefined
  let [from, offset] = [0, 0]
  for (const { index, 0: found } of text.matchAll(/[\0\ufffd\p{Surrogate}]/gu)) {
    offset += Buffer.byteLength(text.slice(from, index), encoding)
    from = index
    const isOwn = found === '\ufffd' && (encoding !== 'utf8' || bytes.subarray(offset, offset + 3).equals(replacement))
    if (!isOwn) return index
  }
  return isCut ? text.length : undefined
}
