/** What the documentation says of an endpoint, beside what follows from its request, its caller and its right. */
import { z } from 'zod'
import type { DescribedResponse } from '../../../shared/platform/http/operation.ts'
import { documentationTag } from '../../../shared/protocol/pages/routes.ts'

/** Tag → what its operations have in common. */
export const tags = {
  tokens: 'Logging in, staying logged in, logging out.',
  sessions: 'Signing in and out by cookie; who is logged in.',
  users: 'Users and their rights.',
  'api-keys': 'Keys that sign requests and identify OAuth clients.',
  keys: 'The public keys, for everybody.',
  ...documentationTag,
  operation: 'For those who run the server.',
}

/** A schema of responses. */
export interface Component<Schema extends z.ZodType> {
  /** Its name among the components of the document; without one it stands in the answer itself. */
  readonly name?: string
  readonly schema: Schema
}

/** A response schema by name. */
export const component = <Schema extends z.ZodType>(name: string, schema: Schema) => ({ name, schema })

/** The documented part of an endpoint. */
export interface Description<Response extends z.ZodType | undefined> {
  /** `operationId`, unique in the document. */
  readonly id: string
  readonly summary: string
  readonly description?: string
  readonly tag: keyof typeof tags
  /** In OpenAPI's syntax, where it is not the route's own. */
  readonly documentedPath?: string
  /** The status of success. */
  readonly status: number
  /** The answer with this status. */
  readonly success: DescribedResponse
  /** The body of that answer; the types hold `handle` to it. */
  readonly response?: Response extends z.ZodType ? Component<Response> : undefined
  /** Answers with another status that are no problem documents. */
  readonly otherResponses?: Readonly<Record<number, DescribedResponse>>
  /** Codes of problems beyond those that follow from caller, right, query and body. */
  readonly problems?: readonly string[]
  /** Names of parameter components: header fields of the request. */
  readonly requestHeaders?: readonly string[]
  /** Names of the security schemes any one of which it takes, where that does not follow from the caller. */
  readonly security?: readonly string[]
}

/** A time in answers. */
export const time = z.string().meta({ format: 'date-time', description: 'RFC 3339.' })

/** A number of seconds, or of seconds since the epoch. */
export const seconds = z.number().int().min(0)

/** One page of a list. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), nextCursor: z.string().nullable() })

/** What `/…` documents that caches may keep have in common: an entity tag, and 304 for a client that has it. */
export const cacheable = {
  requestHeaders: ['IfNoneMatch'],
  otherResponses: { 304: { description: 'It is still what `If-None-Match` names.', headers: ['ETag'] } },
} as const
