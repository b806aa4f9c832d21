import type { JsonSchema } from '../http/operation.ts'

/** Describes a header field of answers. */
export const header = (description: string, schema: JsonSchema = { type: 'string' }): JsonSchema => ({
  description,
  schema,
})

/** Header fields in answers of both servers, by name. */
export const headerComponents: Readonly<Record<string, JsonSchema>> = {
  'X-Request-Id': header('The id under which this request stands in the log.', { type: 'string', format: 'uuid' }),
  ETag: header('The version of what is answered (RFC 9110 §8.8.3).'),
  Location: header('Where the thing is, relative to the origin.', { type: 'string', format: 'uri-reference' }),
  Link: header('The next page, `rel="next"` (RFC 8288).'),
  'WWW-Authenticate': header('A challenge for each scheme that has one, a line each.'),
  'Set-Cookie': header('A new session cookie, or one that makes the browser forget it (RFC 6265bis).'),
  'Retry-After': header('Try again after so many seconds.', { type: 'string', pattern: '^\\d+$' }),
}
