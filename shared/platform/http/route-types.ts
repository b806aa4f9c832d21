/** The types of routes, for callers in the same program: definitions carry them, and no value has them. */

/** What a caller sends to a route, and what it gets. */
export interface RouteTypes {
  /** Method and pattern: `PUT /users/:username/password`. */
  readonly name: string
  /** The names of the members of the query. */
  readonly query: string
  /** What is sent as JSON; undefined without a body. */
  readonly body: unknown
  /** The JSON of a success; undefined without any. */
  readonly reply: unknown
}

/** A definition of a route with these types. */
export interface Typed<Types extends RouteTypes> {
  readonly types?: Types
}

/** Name → types, of these definitions. */
export type RoutesOf<Definition extends Typed<RouteTypes>> = {
  readonly [Types in NonNullable<Definition['types']> as Types['name']]: Types
}

/** A value of JSON that nobody changes. */
export type Readable<T> = T extends readonly (infer Item)[]
  ? readonly Readable<Item>[]
  : T extends object
    ? { readonly [Member in keyof T]: Readable<T[Member]> }
    : T
