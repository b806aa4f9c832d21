/** The query of a request, read and checked: on both servers by this one reader. */
import { z } from 'zod'
import { Refused } from '../../problems/errors.ts'
import type { HttpCall } from '../call.ts'
import { checkValue } from './check-value.ts'

/**
 * The query parameters checked against `schema`, whose members are texts. Whatever is wrong with one is 400, and the parameter is named.
 * @throws Refused `invalid-parameter`
 */
export function readQuery<Schema extends z.ZodType>(call: HttpCall, schema: Schema): z.output<Schema> {
  requireDecodable(call.rawQuery)
  const value: Record<string, string> = Object.create(null)
  for (const [name, text] of call.query) {
    if (call.isCredentialParameter(name)) continue
    if (name in value) throw givenTwice(name)
    value[name] = text
  }
  try {
    return checkValue(schema, { ...value })
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    throw new Refused('invalid-parameter', error.message, { members: error.members })
  }
}

/** Decoded all the same, it would be another text than was sent. @throws Refused unless it is percent-encoded UTF-8 (RFC 3986 §2.1) */
function requireDecodable(rawQuery: string): void {
  try {
    if (rawQuery.includes('%')) decodeURIComponent(rawQuery)
  } catch {
    throw new Refused('invalid-parameter', 'The query is not percent-encoded UTF-8.')
  }
}

function givenTwice(name: string): Refused {
  const pointer = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
  const errors = [{ pointer, code: 'repeated-parameter', message: 'This parameter is given twice.' }]
  return new Refused('invalid-parameter', `The parameter ${JSON.stringify(name)} is given twice.`, {
    members: { errors },
  })
}

/** For routes that take none. */
export const noParameters = z.strictObject({})

/** `limit`: how many items a page may have, 1 to 200. */
const limit = z
  .string()
  .regex(/^\d{1,3}$/, 'Expected a whole number from 1 to 200')
  .transform(Number)
  .pipe(z.number().min(1).max(200))
  .default(50)
  .meta({
    description: 'How many items a page may have.',
    type: 'integer',
    minimum: 1,
    maximum: 200,
    default: 50,
    pattern: undefined,
  })

const cursor = z
  .string()
  .optional()
  .meta({ description: '`nextCursor` of the page before, with all other parameters but `limit` unchanged.' })

/** For lists without filters; those with filters extend it. */
export const pageParameters = z.strictObject({ limit, cursor })
