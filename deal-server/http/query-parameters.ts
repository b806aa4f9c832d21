import { z } from 'zod'
import { Refused } from '../../shared/errors.ts'
import { type HttpCall, queryOf } from '../../shared/http/call.ts'
import { checkValue } from '../../shared/http/check-value.ts'

/**
 * The query parameters checked against `schema`, whose members are texts. Whatever is wrong with one is 400, and the parameter is named.
 * @throws Refused `invalid-parameter`
 */
export function readQuery<Schema extends z.ZodType>(call: HttpCall, schema: Schema): z.output<Schema> {
  const parameters = queryOf(call)
  const value: Record<string, string> = Object.create(null)
  for (const [name, text] of parameters) {
    if (name in value) throw new Refused('invalid-parameter', `The parameter ${JSON.stringify(name)} is given twice.`)
    value[name] = text
  }
  try {
    return checkValue(schema, { ...value })
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    throw new Refused('invalid-parameter', error.message, { members: error.members })
  }
}

/** For routes that take none. */
export const noParameters = z.strictObject({})

/** `limit`: how many items a page may have, 1 to 200. */
export const limitParameter = z
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

/** For lists without filters. */
export const listLimit = z.strictObject({ limit: limitParameter })
