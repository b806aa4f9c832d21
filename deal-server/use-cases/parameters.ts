/** The kinds of parameters that use cases are made of: their bounds stand in the deal model 1.2. */
import { z } from 'zod'
import { currencyExponents } from '../domain/currency.ts'
import { canonicalDecimal } from '../domain/money.ts'

const controlCharacters = /\p{Cc}/u
/** Line breaks and tabs are welcome in longer texts; no other control character is. */
const unprintable = /[^\P{Cc}\n\r\t]/u
const loneSurrogate = /\p{Cs}/u

interface TextBounds {
  readonly min: number
  readonly max: number
  /** Line breaks and tabs allowed. */
  readonly multiline: boolean
}

/** Text in NFC without blanks around it, its length counted in code points. */
const text = ({ min, max, multiline }: TextBounds, description: string) =>
  z
    .string()
    .transform((value) => value.normalize('NFC').trim())
    .superRefine((value, context) => {
      const issue = (code: string, message: string) => context.addIssue({ code: 'custom', message, params: { code } })
      const length = [...value].length
      if (loneSurrogate.test(value)) issue('lone-surrogate', 'This text has half of a surrogate pair.')
      else if ((multiline ? unprintable : controlCharacters).test(value))
        issue('control-character', 'This text has a control character.')
      else if (length < min)
        issue('too-short', min === 1 ? 'This text must not be empty.' : `At least ${min} characters.`)
      else if (length > max) issue('too-long', `At most ${max} characters.`)
    })
    .meta({ description, minLength: min, maxLength: max })

/** The name of a deal: 1–200 characters on one line. */
export const nameText = text({ min: 1, max: 200, multiline: false }, 'name, 1 to 200 characters')

/** What to look for in names: 1–200 characters, blanks around it included. */
export const partOfName = z
  .string()
  .transform((value) => value.normalize('NFC'))
  .refine((value) => !controlCharacters.test(value) && !loneSurrogate.test(value), {
    message: 'This text has a control character.',
    params: { code: 'control-character' },
  })
  .refine((value) => value !== '' && [...value].length <= 200, {
    message: 'Expected 1 to 200 characters.',
    params: { code: 'invalid-length' },
  })
  .meta({ description: 'part of the name, in whatever case', minLength: 1, maxLength: 200 })

/** Why something is done: 1–1000 characters. */
export const reasonText = text({ min: 1, max: 1000, multiline: true }, 'reason, 1 to 1000 characters')

/** A description: up to 4000 characters. */
export const descriptionText = text({ min: 0, max: 4000, multiline: true }, 'free text, up to 4000 characters')

/** What came of a task: up to 1000 characters. */
export const resultText = text({ min: 0, max: 1000, multiline: true }, 'result, up to 1000 characters')

/** A comment: up to 1000 characters. */
export const commentText = text({ min: 0, max: 1000, multiline: true }, 'comment, up to 1000 characters')

/** The number of a document: up to 64 characters. */
export const documentNumberText = text({ min: 0, max: 64, multiline: false }, 'document number, up to 64 characters')

/** A machine-readable reason: a slug of 1–40. */
export const reasonCode = z.string().regex(/^[a-z0-9-]{1,40}$/, 'Expected 1 to 40 of a-z, 0-9 and -')

/** A UUID in any case; given in lower case. */
export const uuid = z
  .string()
  .regex(/^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/, 'Expected a UUID')
  .transform((value) => value.toLowerCase())

/** An ISO 4217 code. */
export const currency = z
  .string()
  .refine((value) => currencyExponents.has(value), {
    message: 'Expected an ISO 4217 code such as EUR.',
    params: { code: 'unknown-currency' },
  })
  .meta({ description: 'ISO 4217 code', pattern: '^[A-Z]{3}$' })

/**
 * An amount in major units, as JSON number or, lossless, as text; given as canonical decimal text. Whether the currency has that many
 * decimals is decided beside the deal.
 */
export const amount = z
  .union([z.number(), z.string()])
  .transform((value, context) => {
    const canonical = canonicalDecimal(value)
    if (canonical !== undefined) return canonical
    const message = 'Expected an amount from 0 to 999999999999.999 without exponent and with at most three decimals.'
    context.addIssue({ code: 'custom', message, params: { code: 'invalid-amount' } })
    return z.NEVER
  })
  .meta({
    description: 'amount in major units, as number or as text',
    minimum: 0,
    pattern: '^\\d{1,12}(\\.\\d{1,3})?$',
  })

/** A date that exists, `YYYY-MM-DD`, from 2000 to 2199. */
export const calendarDate = z
  .string()
  .refine(isCalendarDate, {
    message: 'Expected a date from 2000-01-01 to 2199-12-31 as YYYY-MM-DD.',
    params: { code: 'invalid-date' },
  })
  .meta({ description: 'from 2000-01-01 to 2199-12-31', format: 'date' })

function isCalendarDate(value: string): boolean {
  if (!/^2[01]\d\d-\d\d-\d\d$/.test(value)) return false
  const time = Date.parse(`${value}T00:00:00Z`)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value)
}

/** A user name as the auth server allows them. */
export const username = z.string().regex(/^[A-Za-z0-9._@-]{1,64}$/, 'Expected a user name')
