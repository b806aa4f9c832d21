/**
 * The part of an endpoint that only the documentation needs. The rest of its documentation follows from its request,
 * caller and right.
 */
import * as z from 'zod'
import type { DescribedResponse } from '../../../shared/platform/http/operation.ts'
import { documentationTag } from '../../../shared/server/pages/routes.ts'

/** The tags of operations, with their descriptions. */
export const tags = {
  tokens: 'Logging in, staying logged in, logging out.',
  sessions: 'Signing in and out by cookie; who is logged in.',
  users: 'Users and their rights.',
  access: 'Roles, and the services whose rights are granted here.',
  'api-keys': 'Keys that sign requests and identify OAuth clients.',
  services: 'Other programs that check callers with this server.',
  keys: 'The public keys, for everybody.',
  ...documentationTag,
  operation: 'For those who run the server.',
}

/** The schema of a response body. */
export interface Component<Schema extends z.ZodType> {
  /** Its name among the components of the document. Without a name the schema stands in the response itself. */
  readonly name?: string
  readonly schema: Schema
}

/** A response schema with a name. */
export const component = <Schema extends z.ZodType>(name: string, schema: Schema) => ({ name, schema })

/** The documented part of an endpoint. */
export interface Description<Response extends z.ZodType | undefined> {
  /** `operationId`, unique in the document. */
  readonly id: string
  readonly summary: string
  readonly description: string
  readonly tag: keyof typeof tags
  /** The path in OpenAPI's syntax, where it differs from the path of the route. */
  readonly documentedPath?: string
  /** The status of success. */
  readonly status: number
  /** The response with this status. */
  readonly success: DescribedResponse
  /** The body of that response. The type of `handle` follows from it. */
  readonly response?: Response extends z.ZodType ? Component<Response> : undefined
  /** Responses with another status that are no problem documents. */
  readonly otherResponses?: Readonly<Record<number, DescribedResponse>>
  /** Codes of problems beyond those that follow from caller, right, query and body. */
  readonly problems?: readonly string[]
  /** Names of parameter components for header fields of the request. */
  readonly requestHeaders?: readonly string[]
  /** Names of the accepted security schemes, where these do not follow from the caller. */
  readonly security?: readonly string[]
}

/** A time in responses. */
export const time = z.string().meta({ format: 'date-time', description: 'RFC 3339.' })

/** A number of seconds, or of seconds since the epoch. */
export const seconds = z.number().int().min(0)

/** Common members of documents that caches may store: an entity tag, and 304 for a client that has the document. */
export const cacheable = {
  requestHeaders: ['IfNoneMatch'],
  otherResponses: { 304: { description: 'It is still what `If-None-Match` names.', headers: ['ETag'] } },
} as const
