import { describe, expect, it } from 'vitest'
import { createTextDecoder, NoText } from '../../../../shared/platform/files/text-decoder.ts'

/** The text of these bytes, in pieces of so many. */
function decode(bytes: Buffer, step: number): string {
  const read = createTextDecoder()
  let text = ''
  for (let at = 0; at < bytes.length; at += step) text += read(bytes.subarray(at, at + step))
  return text + read()
}

const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')
const bytes = (...parts: (string | number[])[]) => Buffer.concat(parts.map((part) => Buffer.from(part as string)))
const pieces = [1, 2, 3, 7, 1000]

describe('the text of a file', () => {
  it.each([
    ['UTF-8', bytes('name\r\nMü😀 \ufffd\n'), 'name\r\nMü😀 \ufffd\n'],
    ['UTF-8 with a mark', bytes('\ufeffnäme'), 'näme'],
    ['UTF-16 with a mark', utf16('näme\r\nMü😀'), 'näme\r\nMü😀'],
    ['one letter', bytes('a'), 'a'],
    ['nothing', bytes(), ''],
  ])('is read from %s in pieces of any length', (_, file, text) => {
    for (const step of pieces) expect(decode(file, step)).toBe(text)
  })

  it.each([
    ['windows-1252', Buffer.from('name\r\nMüller', 'latin1'), 'Line 2 is no text in UTF-8: octet 2 of it is 0xFC.'],
    ['MacRoman with its line ends', bytes('name\rfine\rM', [0x9f], 'ller'), 'Line 3 .* octet 2 of it is 0x9F'],
    ['Shift_JIS', bytes([0x96, 0xbc, 0x91, 0x4f]), 'Line 1 .* octet 1 of it is 0x96'],
    ['surrogates in UTF-8', bytes('a\n', [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]), 'Line 2 .* octet 1 of it is 0xED'],
    ['a long form of a letter', bytes('ü', [0xc1, 0x81]), 'Line 1 .* octet 3 of it is 0xC1'],
    ['one octet that is wrong', bytes('ü\nBad ', [0xff], 'x'), 'Line 2 .* octet 5 of it is 0xFF'],
    ['one behind a true U+FFFD', bytes('\ufffd\ufffd', [0xbf], 'x'), 'Line 1 .* octet 7 of it is 0xBF'],
    ['a cut last letter', bytes('a\nMü').subarray(0, 4), 'Line 2 .* octet 2 of it is 0xC3'],
    ['a NUL', bytes('a\r\nb\0'), 'Line 2 .* octet 2 of it is 0x00'],
    ['UTF-16 without a mark', Buffer.from('name', 'utf16le'), 'Line 1 .* octet 2 of it is 0x00'],
    ['big-endian UTF-16', bytes([0xfe, 0xff, 0, 0x61]), 'Line 1 .* octet 1 of it is 0xFE'],
    ['half a pair in UTF-16', utf16('a\nb\ud83dc'), 'Line 2 is no text in UTF-16: octet 3 of it is 0x3D'],
    ['a cut letter in UTF-16', utf16('a\nb').subarray(0, -1), 'Line 2 .* octet 1 of it is 0x62'],
  ])('is refused for %s, with line and octet', (_, file, message) => {
    for (const step of pieces) {
      const read = () => decode(file, step)
      expect(read).toThrow(NoText)
      expect(read).toThrow(new RegExp(`^${message}.*Save the file as UTF-8`))
    }
  })
})
