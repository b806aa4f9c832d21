import type { Route } from '../../shared/platform/http/server/routes.ts'
import { componentSchemas } from '../../shared/platform/openapi/json-schema.ts'
import { problemSchema } from '../../shared/platform/openapi/problem-responses.ts'
import { openApiRoutes } from '../../shared/platform/openapi/serve.ts'
import type { ProblemTable } from '../../shared/platform/problems/problem-document.ts'
import type { SchemeName } from '../../shared/protocol/authentication/scheme.ts'
import type { Endpoint } from '../../shared/server/endpoints/endpoint.ts'
import { responseComponents } from '../../shared/server/endpoints/routes.ts'
import { describeSecurity } from '../../shared/server/openapi/security.ts'
import { documentationTag } from '../../shared/server/pages/routes.ts'
import { oauthError } from './oauth/oauth-endpoint.ts'

const description = `Begin with \`POST /login\` under **tokens**: its access token is what **Authorize** takes, here and
at the deal server. Then \`GET /me\` under **users** says who you are and what you may do.

This server authenticates users, issues and revokes their credentials and publishes the keys that these are verified
with. All paths are served with and without a trailing slash; HEAD wherever GET is; OPTIONS everywhere but
at \`/verify\`. Failures are problem documents (RFC 9457).`

const token = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } as const

const tags = {
  tokens: 'Logging in, staying logged in, logging out.',
  sessions: 'Signing in and out by cookie; who is logged in.',
  users: 'Users and their rights.',
  access: 'Roles, and the services whose rights are granted here.',
  'api-keys': 'Keys that sign requests and identify OAuth clients.',
  clients: 'Applications that sign people in.',
  services: 'Other programs that check callers with this server.',
  keys: 'The public keys, for everybody.',
  ...documentationTag,
  operation: 'For those who run the server.',
}

interface Documented {
  /** All routes of the document. */
  readonly routes: readonly Route[]
  /** The endpoints among the routes. Their responses become components. */
  readonly endpoints: readonly Endpoint[]
  readonly problems: ProblemTable
  readonly origin: string
  /** The enabled schemes. */
  readonly schemes: readonly SchemeName[]
}

/** The routes of this server's OpenAPI document. It does not describe the routes for deal servers. */
export const authOpenApiRoutes = ({ routes, ...documented }: Documented): Route[] =>
  openApiRoutes({ routes, paths: { getOpenApi: '/openapi.json' }, describe: () => describeDocument(documented) })

function describeDocument({ endpoints, problems, origin, schemes }: Omit<Documented, 'routes'>) {
  const security = describeSecurity(schemes)
  const components = { ...responseComponents(endpoints), [oauthError.name]: oauthError.schema }
  return {
    problems,
    origin,
    title: 'Keyhold auth server',
    description,
    tags,
    schemas: { ...componentSchemas(components), Problem: problemSchema(problems) },
    parameters: { IfNoneMatch: ifNoneMatch, IfMatch: { ...ifNoneMatch, name: 'If-Match' } },
    security: security.security,
    securitySchemes: {
      bearer: { ...token, description: 'An access token.' },
      ...security.securitySchemes,
      refreshToken: { ...token, description: 'A refresh token.' },
    },
  }
}

const ifNoneMatch = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description: 'Entity tags, or `*`.',
  schema: { type: 'string' },
}
