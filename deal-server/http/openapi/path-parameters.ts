import type { JsonSchema } from '../../../shared/platform/http/operation.ts'

/** The id of a deal in a path; upper case is accepted. */
export const idOfDeal: JsonSchema = { type: 'string', format: 'uuid' }

/** The id that a client gave its command. */
export const idOfCommand: JsonSchema = { type: 'string', pattern: '^[A-Za-z0-9._~-]{1,128}$' }
