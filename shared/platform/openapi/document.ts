/** The OpenAPI 3.1 document of a server, generated from the routes it serves. */

import type { DescribedBody, DescribedResponse, JsonSchema, Operation } from '../http/operation.ts'
import type { Route } from '../http/server/routes.ts'
import { headerComponents, headerReferences } from './header-components.ts'
import { jsonSchemaOf } from './json-schema.ts'
import { type Problems, problemResponses } from './problem-responses.ts'

/** The content of the document of one server. */
export interface DocumentOptions extends Problems {
  readonly title: string
  readonly description: string
  /** The version of the package. */
  readonly version: string
  /** The origin that clients see. */
  readonly origin: string
  /** The description of each tag. */
  readonly tags: Readonly<Record<string, string>>
  readonly routes: readonly Route[]
  /** Component schemas, including `Problem`. */
  readonly schemas: Readonly<Record<string, JsonSchema>>
  /** Request header fields by component name. */
  readonly parameters?: Readonly<Record<string, JsonSchema>>
  /** Answer header fields of this server only. */
  readonly headers?: Readonly<Record<string, JsonSchema>>
  /** Requests that this server sends, by name (OpenAPI 3.1 §4.8.1). */
  readonly webhooks?: Readonly<Record<string, JsonSchema>>
  readonly securitySchemes: Readonly<Record<string, JsonSchema>>
  /** The security of operations without their own: one of these. */
  readonly security: readonly JsonSchema[]
}

type OpenApiDocument = Readonly<Record<string, unknown>>

type Responses = Readonly<Record<string, JsonSchema>>

type Paths = Record<string, Record<string, JsonSchema>>

/**
 * Creates the document. @throws TypeError when two operations share a path or an id, which is a mistake in a
 * description
 */
export function createDocument(options: DocumentOptions): OpenApiDocument {
  const responses: Record<string, JsonSchema> = {}
  const paths = pathsOf(options, responses)
  return {
    openapi: '3.1.0',
    info: {
      title: options.title,
      version: options.version,
      description: options.description,
      contact: { name: 'The operators of this server', url: `${options.origin}/docs` },
      license: { name: 'All rights reserved', url: `${options.origin}/docs` },
    },
    servers: [{ url: options.origin }],
    security: options.security,
    tags: Object.entries(options.tags).map(([name, description]) => ({ name, description })),
    paths,
    ...(options.webhooks && { webhooks: options.webhooks }),
    components: {
      schemas: options.schemas,
      ...(options.parameters && { parameters: options.parameters }),
      headers: headerComponents(options.headers),
      responses,
      securitySchemes: options.securitySchemes,
    },
  }
}

function pathsOf(options: DocumentOptions, responses: Record<string, JsonSchema>): Paths {
  const paths: Paths = {}
  const ids = new Set<string>()
  for (const { methods, path: routePath, describe } of options.routes) {
    for (const method of methods) {
      for (const operation of describe?.(method) ?? []) {
        const path = operation.path ?? templateOf(routePath)
        const ofPath = paths[path] ?? {}
        paths[path] = ofPath
        if (ofPath[method.toLowerCase()]) throw new TypeError(`${method} ${path} is described twice`)
        if (ids.has(operation.id)) throw new TypeError(`two operations share the id ${operation.id}`)
        ids.add(operation.id)
        ofPath[method.toLowerCase()] = operationObject(path, operation, (described) =>
          withProblems(described, problemResponses(operation.problems, options, responses), responses),
        )
      }
    }
  }
  return paths
}

/** The path of a route in the syntax of OpenAPI. */
const templateOf = (path: string): string => path.replace(/:([A-Za-z]+)/g, '{$1}')

function operationObject(
  path: string,
  operation: Operation,
  withProblemsOf: (described: Responses) => Responses,
): JsonSchema {
  const { id, summary, description, tags, body, responses, security } = operation
  const described = Object.entries(responses).map(([status, answer]) => [status, answerObject(answer)])
  const parameters = parametersOf(path, operation)
  return {
    operationId: id,
    summary,
    description,
    tags,
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: bodyObject(body) }),
    responses: withProblemsOf(Object.fromEntries(described)),
    ...(security && { security: security.map((name) => ({ [name]: [] })) }),
  }
}

/** Merges answers and problems with the same status: such a status has both forms. */
function withProblems(described: Responses, problems: Responses, components: Responses): Responses {
  const both = Object.keys(described).flatMap((status) => {
    const name = String(problems[status]?.$ref ?? '').replace('#/components/responses/', '')
    const [own, problem] = [described[status], components[name]]
    if (!own || !problem) return []
    const merged = { ...own }
    for (const part of ['content', 'headers']) merged[part] = { ...Object(problem[part]), ...Object(own[part]) }
    return [[status, merged] as const]
  })
  return { ...described, ...problems, ...Object.fromEntries(both) }
}

function parametersOf(path: string, { pathParameters = {}, query, headers = [] }: Operation): JsonSchema[] {
  const inPath = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: pathParameters[name] ?? { type: 'string' },
  }))
  const inQuery = Object.entries(query ? (jsonSchemaOf(query).properties ?? {}) : {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    schema,
  }))
  return [...inPath, ...inQuery, ...headers.map((name) => ({ $ref: `#/components/parameters/${name}` }))]
}

function bodyObject(body: DescribedBody): JsonSchema {
  const { schema, required, example, mediaTypes = ['application/json'], alternatives = {} } = body
  const examples = example === undefined ? {} : { example }
  const content = {
    ...Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema, ...examples }])),
    ...Object.fromEntries(Object.entries(alternatives).map(([mediaType, ofType]) => [mediaType, { schema: ofType }])),
  }
  return { required, content }
}

function answerObject({
  description,
  schema,
  mediaType,
  alternatives = [],
  headers = [],
}: DescribedResponse): JsonSchema {
  const asText = alternatives.map((name) => [name, { schema: { type: 'string' } }])
  return {
    description,
    headers: headerReferences(['X-Request-Id', ...headers]),
    ...(schema && { content: { [mediaType ?? 'application/json']: { schema }, ...Object.fromEntries(asText) } }),
  }
}
