/** The parameters of requests in paths and header fields. */
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
    "The client's own id for the command, with or without quotes. Sent again with the same content, it is answered as before and happens once.",
    { type: 'string', pattern: '^"?[A-Za-z0-9._~-]{1,128}"?$' },
  ),
  IfMatch: field('If-Match', 'Entity tags of the deal, or `*`: refused with 412 when it is at another version.'),
  IfNoneMatch: field('If-None-Match', 'Entity tags, or `*`: a read is answered with 304, a command refused with 412.'),
  LastEventId: field('Last-Event-ID', 'The position of the last event that was received: the stream goes on after it.'),
  Prefer: field('Prefer', '`return=minimal`: no body (RFC 7240).'),
}
