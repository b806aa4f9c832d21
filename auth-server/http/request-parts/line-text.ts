import * as z from 'zod'
import { isVisible, lineBreaking } from '../../../shared/platform/visible-text.ts'

/** Text on one line, in NFC without spaces around it, of a bounded length. Its error has the code `name-form`. */
export const lineText = (minLength: number, maxLength: number) =>
  z
    .string()
    .transform((value) => value.normalize('NFC').trim())
    .refine((value) => isLine(value, minLength, maxLength), {
      message: `Expected ${minLength} to ${maxLength} characters on one line, at least one of them visible.`,
      params: { code: 'name-form' },
    })
    .meta({ minLength, maxLength })

function isLine(value: string, minLength: number, maxLength: number): boolean {
  const { length } = [...value]
  const isText = !lineBreaking.test(value) && !/\p{Cs}/u.test(value) && isVisible(value)
  return isText && length >= minLength && length <= maxLength
}
