/** What the documentation says of one method of one path. Stands beside the route it describes. */
import type { z } from 'zod'

/** A JSON Schema (2020-12), as OpenAPI 3.1 takes it. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** A body as it is sent. */
export interface DescribedBody {
  readonly schema: JsonSchema
  /** False where an empty body counts as `{}`. */
  readonly required: boolean
  /** The default is `application/json` alone. */
  readonly mediaTypes?: readonly string[]
  /** Media types whose body has another schema. */
  readonly alternatives?: Readonly<Record<string, JsonSchema>>
}

/** An answer that is no problem document. */
export interface DescribedAnswer {
  readonly description: string
  /** None: the answer has no body. */
  readonly schema?: JsonSchema
  /** The default is `application/json`. */
  readonly mediaType?: string
  /** Further media types of the same answer, chosen by `Accept` or by what is asked for: text. */
  readonly alternatives?: readonly string[]
  /** Names of header components. */
  readonly headers?: readonly string[]
}

export interface Operation {
  /** In OpenAPI's syntax, where it is not the route's own: a route may stand for several documented paths. */
  readonly path?: string
  /** Unique in the document. */
  readonly id: string
  readonly summary: string
  readonly description?: string
  readonly tag: string
  /** Schemas of the path's parameters; those that are left out are any text. */
  readonly pathParameters?: Readonly<Record<string, JsonSchema>>
  /** The query's parameters. */
  readonly query?: z.ZodObject
  /** Names of parameter components: header fields of the request. */
  readonly headers?: readonly string[]
  readonly body?: DescribedBody
  readonly answers: Readonly<Record<number, DescribedAnswer>>
  /** Codes of the problems it may answer with, besides those that any request may meet. */
  readonly problems: readonly string[]
  /** Names of the security schemes any one of which it takes; empty when it needs no caller. The default is the document's. */
  readonly security?: readonly string[]
}

/** The operations that a method of a route stands for. */
export type Describe = (method: string) => readonly Operation[]
