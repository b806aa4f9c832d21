import type { z } from 'zod'
import { readBodyAs } from '../../../shared/platform/http/content/json-body.ts'
import type { DescribedBody } from '../../../shared/platform/http/operation.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { jsonSchemaOf } from '../../../shared/platform/openapi/json-schema.ts'

/** Reads the body of an endpoint, and describes it for the documentation. */
export interface BodyReader<Body> {
  /**
   * @throws ProblemError `invalid-body`, `unsupported-media-type`, `invalid-value`; OAuthError at OAuth endpoints
   */
  read(request: HttpRequest): Promise<Body>
  describe(): DescribedBody
}

/** A JSON body of this schema. With `required: false` an empty body counts as `{}`. */
export const jsonBody = <Schema extends z.ZodType>(
  schema: Schema,
  { required = true }: { readonly required?: boolean } = {},
): BodyReader<z.output<Schema>> => ({
  read: (request) => readBodyAs(request, schema),
  describe: () => ({ schema: jsonSchemaOf(schema), required }),
})
