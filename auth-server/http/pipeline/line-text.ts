import * as z from 'zod'

/** Control characters and lone surrogates: PostgreSQL refuses some of them. */
const unprintable = /\p{Cc}|\p{Cs}/u

/** Text on one line, in NFC without spaces around it, of so many characters. Its error has the code `name-form`. */
export const lineText = (minLength: number, maxLength: number) =>
  z
    .string()
    .transform((value) => value.normalize('NFC').trim())
    .refine((value) => isLine(value, minLength, maxLength), {
      message: `Expected ${minLength} to ${maxLength} characters on one line.`,
      params: { code: 'name-form' },
    })
    .meta({ minLength, maxLength })

function isLine(value: string, minLength: number, maxLength: number): boolean {
  const { length } = [...value]
  return length >= minLength && length <= maxLength && !unprintable.test(value)
}
