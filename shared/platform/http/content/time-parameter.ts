/** Times in queries, for both servers. */
import * as z from 'zod'
import { rfc3339 } from '../../clock.ts'

/** The span of times that four-digit years can write. */
const firstTime = Date.parse('0001-01-01T00:00:00Z')
const lastTime = Date.parse('9999-12-31T23:59:59.999Z')
const rfc3339Time = z.iso.datetime({ offset: true })

/**
 * A time in UTC with milliseconds; undefined for a text that is no time. Stored times have milliseconds: a bound
 * between two of them stands for the later one.
 */
function timeOf(text: string): string | undefined {
  const upper = text.toUpperCase()
  if (!rfc3339Time.safeParse(upper).success) return undefined
  const [, beforeFraction = '', fraction = '', zone = ''] =
    /^([^.Z+]+?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(upper) ?? []
  const isBetween = /[1-9]/.test(fraction.slice(3))
  const time = Date.parse(`${beforeFraction}.${fraction.slice(0, 3).padEnd(3, '0')}${zone}`) + (isBetween ? 1 : 0)
  return time >= firstTime && time <= lastTime ? rfc3339(time) : undefined
}

/** A parameter for a moment; its value is a time in UTC with milliseconds. */
export const timeParameter = (description: string) =>
  z
    .string()
    .transform((text, context) => {
      const found = timeOf(text)
      if (found !== undefined) return found
      const message = 'Expected a time such as 2030-01-31T12:00:00Z; + is %2B in a URL.'
      context.addIssue({ code: 'custom', message, params: { code: 'invalid-time' } })
      return z.NEVER
    })
    .optional()
    .meta({ description, format: 'date-time' })
