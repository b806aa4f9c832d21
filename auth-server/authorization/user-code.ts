/** User codes (RFC 8628 §6.1): eight letters, without vowels and without those that look alike. Pure but for `ids`. */
import type { IdSource } from '../../shared/platform/ids.ts'
import { digestOf } from './authorization-code.ts'

const letters = 'BCDFGHJKLMNPQRSTVWXZ'
const length = 8
/** The largest multiple of the number of letters in a byte: each letter is as likely as the others. */
const bound = 240

/** A new code: 34 bits, of which a user and an address may try few. */
export function newUserCode(ids: IdSource): string {
  let code = ''
  while (code.length < length)
    for (const byte of Buffer.from(ids.secret(length), 'base64url'))
      if (byte < bound && code.length < length) code += letters[byte % letters.length]
  return shownCode(code)
}

/** The code in a text that a person has typed: in any case, with or without signs in between. */
export function readUserCode(text: string): string | undefined {
  const code = text
    .slice(0, 100)
    .toUpperCase()
    .replace(/[^A-Z]/g, '')
  return new RegExp(`^[${letters}]{${length}}$`).test(code) ? shownCode(code) : undefined
}

const shownCode = (code: string): string => `${code.slice(0, length / 2)}-${code.slice(length / 2)}`

/** What is stored of a code. */
export const userCodeHash = digestOf
