import type { z } from 'zod'
import { readBodyAs } from '../../../shared/platform/http/content/json-body.ts'
import type { DescribedBody } from '../../../shared/platform/http/operation.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import type { Readable } from '../../../shared/platform/http/route-types.ts'
import { jsonSchemaOf } from '../../../shared/platform/openapi/json-schema.ts'

/** Reads the body of an endpoint, and describes it for the documentation. `Sent` is the type of what is sent. */
export interface BodyReader<Body, Sent = unknown> {
  /** For the compiler alone. */
  readonly sent?: Sent
  /**
   * @throws ProblemError `invalid-body`, `unsupported-media-type`, `invalid-value`; OAuthError at OAuth endpoints
   */
  read(request: HttpRequest): Promise<Body>
  describe(): DescribedBody
}

/** What is sent for a JSON body of this schema. */
type SentAs<Schema extends z.ZodType, Required extends boolean> =
  | Readable<z.input<Schema>>
  | (Required extends true ? never : undefined)

/** A JSON body of this schema. With `required: false` an empty body counts as `{}`. */
export const jsonBody = <Schema extends z.ZodType, const Required extends boolean = true>(
  schema: Schema,
  { required }: { readonly required?: Required } = {},
): BodyReader<z.output<Schema>, SentAs<Schema, Required>> => ({
  read: (request) => readBodyAs(request, schema),
  describe: () => ({ schema: jsonSchemaOf(schema), required: required !== false }),
})
