/** Makes routes of endpoints: each runs the pipeline, and describes itself for the OpenAPI document. */
import type { z } from 'zod'
import type { Operation } from '../../platform/http/operation.ts'
import { maxOpenBodyBytes } from '../../platform/http/request.ts'
import type { Route } from '../../platform/http/server/routes.ts'
import { jsonSchemaOf, ref } from '../../platform/openapi/json-schema.ts'
import { type ClosedEndpoint, type Component, type Endpoint, type PublicEndpoint, statusOf } from './endpoint.ts'
import type { RunEndpoint } from './pipeline.ts'

/** The route that serves an endpoint. */
export function routeOf(endpoint: Endpoint, run: RunEndpoint): Route {
  if (endpoint.caller === 'none') return publicRoute(endpoint)
  const maxBodyBytes = maxBodyBytesOf(endpoint)
  return {
    methods: [endpoint.method],
    path: endpoint.path,
    ...(maxBodyBytes !== undefined && { maxBodyBytes }),
    ...('answersOptions' in endpoint && { answersOptions: endpoint.answersOptions }),
    describe: () => [operationOf(endpoint)],
    handle: (request) => run(request, endpoint),
  }
}

const publicRoute = (endpoint: PublicEndpoint): Route => ({
  methods: [endpoint.method],
  path: endpoint.path,
  describe: () => [operationOf(endpoint)],
  handle: endpoint.handle,
})

const maxBodyBytesOf = ({ maxBodyBytes, caller }: ClosedEndpoint): number | undefined =>
  maxBodyBytes ?? (caller && maxOpenBodyBytes)

/** The operation of an endpoint in the OpenAPI document. */
export function operationOf(endpoint: Endpoint): Operation {
  const { id, summary, description, tag, documentedPath, pathParameters } = endpoint
  const { success, response, requestHeaders } = endpoint
  const security = securityOf(endpoint)
  return {
    id,
    summary,
    description,
    tags: [tag].flat(),
    ...(pathParameters && { pathParameters }),
    ...(documentedPath !== undefined && { path: documentedPath }),
    ...(requestHeaders && { headers: requestHeaders }),
    ...requestOf(endpoint),
    responses: {
      [statusOf(endpoint)]: response ? { ...success, schema: schemaOf(response) } : success,
      ...endpoint.otherResponses,
    },
    problems: [...new Set([...problemsOf(endpoint), ...(endpoint.problems ?? [])])],
    ...(security && { security }),
  }
}

const schemaOf = ({ name, schema }: Component<z.ZodType>) => (name === undefined ? jsonSchemaOf(schema) : ref(name))

/** The named response schemas of these endpoints. */
export const responseComponents = (endpoints: readonly Endpoint[]): Record<string, z.ZodType> =>
  Object.fromEntries(
    endpoints.flatMap(({ response }) => (response?.name === undefined ? [] : [[response.name, response.schema]])),
  )

function requestOf(endpoint: Endpoint): Pick<Operation, 'query' | 'body'> {
  if (endpoint.caller === 'none') return {}
  const { query, body } = endpoint
  return { ...(query && { query }), ...(body && { body: body.describe() }) }
}

const securityOf = ({ security, caller }: Endpoint): readonly string[] | undefined => {
  if (security) return security
  if (caller === 'none') return []
  return caller?.security
}

/** The problem codes of the caller and the right, which a client of this endpoint should know. */
function problemsOf(endpoint: Endpoint): readonly string[] {
  if (endpoint.caller === 'none') return []
  const { caller, right } = endpoint
  return [
    ...(caller?.problems ?? []),
    ...(right === undefined ? [] : [right === 'own-account' ? 'narrowed-credential' : 'missing-right']),
  ]
}
