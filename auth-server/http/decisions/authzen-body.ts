import type { z } from 'zod'
import { readBodyAs } from '../../../shared/platform/http/content/json-body.ts'
import { jsonSchemaOf } from '../../../shared/platform/openapi/json-schema.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { BodyReader } from '../../../shared/server/endpoints/endpoint.ts'

/** A JSON body of this schema. A wrong value is 400 too, as AuthZEN 1.0 §10.1.2 has it. */
export const authzenBody = <Schema extends z.ZodType>(
  schema: Schema,
): BodyReader<z.output<Schema>, z.input<Schema>> => ({
  read: async (request) => {
    try {
      return await readBodyAs(request, schema)
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code !== 'invalid-value') throw error
      throw new ProblemError('invalid-body', error.message, { members: error.members })
    }
  },
  describe: () => ({ schema: jsonSchemaOf(schema), required: true }),
})

/** The value, if it has the form. @throws ProblemError `invalid-body` */
export function requireEvaluation<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new ProblemError('invalid-body', 'An evaluation needs a subject, an action and a resource.')
}
