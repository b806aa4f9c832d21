/** The documentation of one method of one path. It is beside the route. */
import type { z } from 'zod'

/** A JSON Schema (2020-12), as OpenAPI 3.1 takes it. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** A request body. */
export interface DescribedBody {
  readonly schema: JsonSchema
  /** False if an empty body counts as `{}`. */
  readonly required: boolean
  /** Only `application/json` when left out. */
  readonly mediaTypes?: readonly string[]
  /** A body that can be sent as it stands, where the schema's own example cannot. */
  readonly example?: unknown
  /** Other media types, each with its schema. */
  readonly alternatives?: Readonly<Record<string, JsonSchema>>
}

/** An answer that is not a problem document. */
export interface DescribedResponse {
  readonly description: string
  /** Left out for an answer without body. */
  readonly schema?: JsonSchema
  /** `application/json` when left out. */
  readonly mediaType?: string
  /** Further media types of the same answer as text, chosen by `Accept` or by the target. */
  readonly alternatives?: readonly string[]
  /** Names of header components. */
  readonly headers?: readonly string[]
}

/** One documented operation. */
export interface Operation {
  /**
   * The path in the syntax of OpenAPI, if it differs from that of the route: a route may stand for several documented
   * paths.
   */
  readonly path?: string
  /** Unique in the document. */
  readonly id: string
  readonly summary: string
  readonly description: string
  /** The groups under which a reader finds it. */
  readonly tags: readonly string[]
  /** Schemas of path parameters. Parameters without a schema are texts. */
  readonly pathParameters?: Readonly<Record<string, JsonSchema>>
  /** The query parameters. */
  readonly query?: z.ZodObject
  /** Names of parameter components: header fields of the request. */
  readonly headers?: readonly string[]
  readonly body?: DescribedBody
  readonly responses: Readonly<Record<number, DescribedResponse>>
  /** The problem codes that a client of this operation should know: at most eight. Any response can have others. */
  readonly problems: readonly string[]
  /** The security schemes that are accepted; empty if no caller is needed. Those of the document when left out. */
  readonly security?: readonly string[]
  /** The right that a caller needs, of operations that only read; for the page of all routes. */
  readonly right?: string
}

/** Describes the operations of one method of a route. */
export type Describe = (method: string) => readonly Operation[]
