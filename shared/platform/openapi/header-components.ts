import type { JsonSchema } from '../http/operation.ts'

/** Describes a header field of answers. */
export const header = (description: string, schema: JsonSchema = { type: 'string' }): JsonSchema => ({
  description,
  schema,
})

/** Header fields in answers of both servers, by name. */
const sharedHeaders: Readonly<Record<string, JsonSchema>> = {
  'X-Request-Id': header('The id under which this request is in the log.', { type: 'string', format: 'uuid' }),
  ETag: header('The version of what is answered (RFC 9110 §8.8.3).'),
  Location: header('Where the thing is, relative to the origin.', { type: 'string', format: 'uri-reference' }),
  Link: header('The next page, `rel="next"` (RFC 8288).'),
  'WWW-Authenticate': header('A challenge for each scheme that has one, a line each.'),
  'Set-Cookie': header('A new session cookie, or one that makes the browser forget it (RFC 6265bis).'),
  'Retry-After': header('Try again after this number of seconds.', { type: 'string', pattern: '^\\d+$' }),
}

/** The name of the component for a header field: generators make identifiers of it. */
const componentName = (field: string): string => field.replaceAll('-', '')

/** The components of header fields: the shared ones, and these. */
export const headerComponents = (
  own: Readonly<Record<string, JsonSchema>> = {},
): Readonly<Record<string, JsonSchema>> =>
  Object.fromEntries(Object.entries({ ...sharedHeaders, ...own }).map(([field, it]) => [componentName(field), it]))

/** References to header components, by the names of the fields. */
export const headerReferences = (fields: readonly string[]): JsonSchema =>
  Object.fromEntries(fields.map((field) => [field, { $ref: `#/components/headers/${componentName(field)}` }]))
