/**
 * The schemas of parameters. Their bounds are those of docs/deal-model.md#fields. Required parameters have an example,
 * from which the documentation makes sample bodies.
 */
import * as z from 'zod'
import { isVisible, lineBreaking } from '../../shared/platform/visible-text.ts'
import { usernamePattern } from '../../shared/protocol/principal/record.ts'
import { currencyExponents } from '../domain/currency.ts'
import { readDecimal } from '../domain/money.ts'

/** Longer texts may have line breaks and tabs, but no other control character. */
const unprintable = /[^\P{Cc}\n\r\t]/u
const loneSurrogate = /\p{Cs}/u

interface TextBounds {
  readonly min: number
  readonly max: number
  /** Line breaks and tabs allowed. */
  readonly multiline: boolean
}

/** A text in NFC without blanks around it. Its length counts code points. */
const text = ({ min, max, multiline }: TextBounds, description: string) =>
  z
    .string()
    .transform((value) => value.normalize('NFC').trim())
    .superRefine((value, context) => {
      const issue = (code: string, message: string) => context.addIssue({ code: 'custom', message, params: { code } })
      const length = [...value].length
      if (loneSurrogate.test(value)) issue('lone-surrogate', 'This text has half of a surrogate pair.')
      else if ((multiline ? unprintable : lineBreaking).test(value))
        issue('control-character', 'This text has a control character.')
      else if (length < min)
        issue('too-short', min === 1 ? 'This text must not be empty.' : `At least ${min} characters.`)
      else if (length > max) issue('too-long', `At most ${max} characters.`)
      else if (!isVisible(value)) issue('invisible-text', 'This text has no visible character.')
    })
    .meta({ description, minLength: min, maxLength: max })

/** The first fault in a value, at any depth, that PostgreSQL cannot store. */
function faultIn(value: unknown): 'control-character' | 'lone-surrogate' | undefined {
  if (typeof value === 'string') {
    if (value.includes('\0')) return 'control-character'
    return loneSurrogate.test(value) ? 'lone-surrogate' : undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, member] of Object.entries(value)) {
    const fault = faultIn(name) ?? faultIn(member)
    if (fault) return fault
  }
  return undefined
}

function requireStorable(value: unknown, context: z.core.$RefinementCtx): void {
  const code = faultIn(value)
  const message = 'This value has NUL or half of a surrogate pair.'
  if (code) context.addIssue({ code: 'custom', message, params: { code } })
}

/** Any value, kept as it is. */
export const anyValue = z.unknown().superRefine(requireStorable)

/** Any text, kept as it is. */
export const anyText = z.string().superRefine(requireStorable)

/** The name of a deal: 1–200 characters on one line. */
export const nameText = text({ min: 1, max: 200, multiline: false }, 'name, 1 to 200 characters').meta({
  examples: ['deal123'],
})

/** Text to search in names and descriptions: 1–200 characters, with the blanks around it. */
export const partOfText = z
  .string()
  .transform((value) => value.normalize('NFC'))
  .refine((value) => !/\p{Cc}|\p{Cs}/u.test(value), {
    message: 'This text has a control character.',
    params: { code: 'control-character' },
  })
  .refine((value) => value !== '' && [...value].length <= 200, {
    message: 'Expected 1 to 200 characters.',
    params: { code: 'invalid-length' },
  })
  .meta({ description: 'Part of the name or of the description, in any case.', minLength: 1, maxLength: 200 })

/** The reason of a change: 1–1000 characters. */
export const reasonText = text({ min: 1, max: 1000, multiline: true }, 'reason, 1 to 1000 characters').meta({
  examples: ['test'],
})

/** A description: up to 4000 characters. */
export const descriptionText = text({ min: 0, max: 4000, multiline: true }, 'free text, up to 4000 characters')

/** The result of a task: up to 1000 characters. */
export const resultText = text({ min: 0, max: 1000, multiline: true }, 'result, up to 1000 characters')

/** A comment: up to 1000 characters. */
const commentText = text({ min: 0, max: 1000, multiline: true }, 'comment, up to 1000 characters')

/** The number of a document: up to 64 characters. */
export const documentNumberText = text({ min: 0, max: 64, multiline: false }, 'document number, up to 64 characters')

/** A machine-readable reason: 1–40 characters. */
export const reasonCode = z.string().regex(/^[a-z0-9-]{1,40}$/, 'Expected 1 to 40 of a-z, 0-9 and -.')

const uuidPattern = /^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/

/** A UUID in any case, in lower case; undefined for other text. */
export const parseUuid = (text: string): string | undefined => (uuidPattern.test(text) ? text.toLowerCase() : undefined)

/** A UUID in any case; the output is in lower case. */
export const uuid = z
  .string()
  .regex(uuidPattern, 'Expected a UUID.')
  .transform((value) => value.toLowerCase())
  .meta({ examples: ['0198c0de-0000-4000-8000-000000000001'] })

/** An ISO 4217 code. */
export const currency = z
  .string()
  .refine((value) => currencyExponents.has(value), {
    message: 'Expected an ISO 4217 code such as EUR.',
    params: { code: 'unknown-currency' },
  })
  .meta({ description: 'ISO 4217 code', pattern: '^[A-Z]{3}$' })

/**
 * An amount in major units, as JSON number or as text, which loses nothing. The output is decimal text. The decision
 * checks the number of decimals, because it depends on the deal's currency.
 */
export const amount = z
  .union([z.number(), z.string()])
  .transform((value, context) => {
    const decimal = readDecimal(value)
    if (decimal !== undefined) return decimal
    if (/^\d{1,12}\.\d{4,}$/.test(String(value))) {
      const message = 'No currency has more than three decimals.'
      context.addIssue({ code: 'custom', message, params: { code: 'currency-scale' } })
      return z.NEVER
    }
    const message = 'Expected an amount from 0 to 999999999999.999 without exponent and with at most three decimals.'
    context.addIssue({ code: 'custom', message, params: { code: 'invalid-amount' } })
    return z.NEVER
  })
  .meta({
    description: 'amount in major units, as number or as text',
    minimum: 0,
    pattern: '^\\d{1,12}(\\.\\d{1,3})?$',
    examples: [1234],
  })

/** A valid date, `YYYY-MM-DD`, from 2000 to 2199. */
export const calendarDate = z
  .string()
  .refine(isCalendarDate, {
    message: 'Expected a date from 2000-01-01 to 2199-12-31 as YYYY-MM-DD.',
    params: { code: 'invalid-date' },
  })
  .meta({ description: 'from 2000-01-01 to 2199-12-31', format: 'date', examples: ['2030-06-30'] })

function isCalendarDate(value: string): boolean {
  if (!/^2[01]\d\d-\d\d-\d\d$/.test(value)) return false
  const time = Date.parse(`${value}T00:00:00Z`)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value)
}

/** What completes a deal. */
export const completionMembers = {
  completedOn: calendarDate.optional(),
  finalPrice: amount.optional(),
  documentNumber: documentNumberText.nullable().optional(),
  comment: commentText.nullable().optional(),
  openTasks: z.enum(['refuse', 'drop']).optional(),
}

/** A user name as the auth server allows them. */
export const username = z
  .string()
  .regex(usernamePattern, 'Expected a user name.')
  .meta({ examples: ['alice'] })
