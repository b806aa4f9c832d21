/** Reads and checks the query of a request, for both servers. */
import * as z from 'zod'
import { checkValue } from '../../problems/check-value.ts'
import { ProblemError } from '../../problems/errors.ts'
import type { HttpRequest } from '../request.ts'

/**
 * Reads the query parameters and checks them against `schema`, whose members are texts, or lists of texts: only these
 * may be given more than once. Every error is 400 and names the parameter.
 * @throws ProblemError `invalid-parameter`
 */
export function readQuery<Schema extends z.ZodType>(request: HttpRequest, schema: Schema): z.output<Schema> {
  if (request.rawQuery === '') return readEmptyQuery(schema)
  requireDecodable(request.rawQuery)
  const own = new Map<string, string | string[]>()
  for (const [name, text] of request.query) {
    if (request.isCredentialParameter(name)) continue
    if (isList(schema, name)) own.set(name, [...(own.get(name) ?? []), text])
    else if (own.has(name)) throw givenTwice(name)
    else own.set(name, text)
  }
  return own.size === 0 ? readEmptyQuery(schema) : checkParameters(schema, Object.fromEntries(own))
}

/** True for a member that is a list, with or without a default. */
function isList(schema: z.ZodType, name: string): boolean {
  const member = schema instanceof z.ZodObject && Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined
  return (member instanceof z.ZodDefault ? member.def.innerType : member) instanceof z.ZodArray
}

/** The result of each schema for a request without parameters: most requests have none. */
const ofEmptyQuery = new WeakMap<z.ZodType, unknown>()

function readEmptyQuery<Schema extends z.ZodType>(schema: Schema): z.output<Schema> {
  const known = ofEmptyQuery.get(schema) ?? Object.freeze(checkParameters(schema, {}))
  ofEmptyQuery.set(schema, known)
  return known as z.output<Schema>
}

function checkParameters<Schema extends z.ZodType>(schema: Schema, value: object): z.output<Schema> {
  try {
    return checkValue(schema, value)
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error
    throw new ProblemError('invalid-parameter', error.message, { members: error.members })
  }
}

/**
 * Decoding other input would give another text than was sent. @throws ProblemError unless it is percent-encoded UTF-8
 * (RFC 3986 §2.1)
 */
function requireDecodable(rawQuery: string): void {
  try {
    if (rawQuery.includes('%')) decodeURIComponent(rawQuery)
  } catch {
    throw new ProblemError('invalid-parameter', 'The query is not percent-encoded UTF-8.')
  }
}

function givenTwice(name: string): ProblemError {
  const pointer = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
  const errors = [{ pointer, code: 'repeated-parameter', message: 'This parameter is given twice.' }]
  return new ProblemError('invalid-parameter', `The parameter ${JSON.stringify(name)} is given twice.`, {
    members: { errors },
  })
}

/** For routes without query parameters. */
export const noParameters = z.strictObject({})

/** `limit`: the largest number of items of a page, 1 to 200. */
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

/** The parameters of lists without filters. Lists with filters extend them. */
export const pageParameters = z.strictObject({ limit, cursor })
