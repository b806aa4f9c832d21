/** The path parameters and header fields of requests. */
import type { JsonSchema } from '../../../shared/platform/http/operation.ts'

/** The id of a deal in a path; upper case is accepted. */
export const idOfDeal: JsonSchema = { type: 'string', format: 'uuid' }

/** The id that a client gave its command. */
export const idOfCommand: JsonSchema = { type: 'string', pattern: '^[A-Za-z0-9._~-]{1,128}$' }

const field = (name: string, description: string, schema: JsonSchema = { type: 'string' }): JsonSchema => ({
  name,
  in: 'header',
  required: false,
  description,
  schema,
})

/** Header fields of requests, by component name. */
export const requestHeaders: Readonly<Record<string, JsonSchema>> = {
  IdempotencyKey: field(
    'Idempotency-Key',
    "The client's own id for the command, with or without quotes. " +
      'The same request sent again gets the same response, and the command runs once.',
    { type: 'string', pattern: '^"?[A-Za-z0-9._~-]{1,128}"?$' },
  ),
  IfMatch: field('If-Match', 'Entity tags of the deal, or `*`: 412 when the deal has another version.'),
  IfNoneMatch: field('If-None-Match', 'Entity tags, or `*`: when one matches, a read gets 304 and a command 412.'),
  LastEventId: field('Last-Event-ID', 'The position of the last received event: the stream continues after it.'),
  Prefer: field('Prefer', '`return=minimal`: no body (RFC 7240).'),
  PreferCount: field(
    'Prefer',
    '`count=exact` or `count=estimated`: how many deals match in all (RFC 7240). An exact count that takes too long ' +
      'becomes an estimate; `Preference-Applied` says which one it is.',
  ),
}
