import type { Route } from '../../shared/platform/http/server/routes.ts'
import { componentSchemas } from '../../shared/platform/openapi/json-schema.ts'
import { problemSchema } from '../../shared/platform/openapi/problem-answers.ts'
import { openApiRoutes } from '../../shared/platform/openapi/serve.ts'
import type { ProblemTable } from '../../shared/platform/problems/problem-document.ts'
import type { SchemeName } from '../../shared/protocol/authentication/scheme.ts'
import { describeSecurity } from '../../shared/protocol/openapi/security.ts'
import { documentationTag } from '../../shared/protocol/pages/routes.ts'
import * as answers from './openapi/answer-schemas.ts'

const tags = {
  tokens: 'Logging in, staying logged in, logging out.',
  sessions: 'Signing in and out by cookie; who is logged in.',
  users: 'Users and their rights.',
  'api-keys': 'Keys that sign requests and identify OAuth clients.',
  keys: 'The public keys, for everybody.',
  ...documentationTag,
  operation: 'For those who run the server.',
}

const description = `Authenticates users, issues and revokes their credentials and publishes the keys that these are verified with.
All paths are served with and without a trailing slash; HEAD wherever GET is; OPTIONS everywhere. Failures are problem documents
(RFC 9457).`

const token = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } as const

interface Documented {
  /** All that is served besides. */
  readonly routes: readonly Route[]
  readonly problems: ProblemTable
  readonly origin: string
  /** The enabled ones. */
  readonly schemes: readonly SchemeName[]
}

/** The routes of this server's OpenAPI document. What is for deal servers alone is not described. */
export function authOpenApiRoutes(documented: Documented): Route[] {
  const security = describeSecurity(documented.schemes)
  return openApiRoutes({
    ...documented,
    paths: ['/openapi.json'],
    title: 'Keyhold auth server',
    description,
    tags,
    schemas: {
      ...componentSchemas({
        Tokens: answers.tokensSchema,
        KeySignedToken: answers.keySignedTokenSchema,
        Me: answers.meSchema,
        User: answers.userSchema,
        DigestSecret: answers.digestSecretAnswerSchema,
        UserPage: answers.userPageSchema,
        Session: answers.sessionSchema,
        Login: answers.loginSchema,
        LoginPage: answers.loginPageSchema,
        AuditPage: answers.auditPageSchema,
        OAuthTokens: answers.oauthTokensSchema,
        OAuthError: answers.oauthErrorSchema,
        Introspection: answers.introspectionSchema,
        OAuthMetadata: answers.oauthMetadataSchema,
        JwkSet: answers.jwkSetSchema,
        KeyStatus: answers.keyStatusSchema,
        ApiKey: answers.apiKeySchema,
        NewApiKey: answers.newApiKeySchema,
        ApiKeyPage: answers.apiKeyPageSchema,
      }),
      Problem: problemSchema(documented.problems),
    },
    parameters: {
      IfNoneMatch: {
        name: 'If-None-Match',
        in: 'header',
        required: false,
        description: 'Entity tags, or `*`.',
        schema: { type: 'string' },
      },
    },
    security: security.security,
    securitySchemes: {
      bearer: { ...token, description: 'An access token.' },
      ...security.securitySchemes,
      refreshToken: { ...token, description: 'A refresh token.' },
    },
  })
}
