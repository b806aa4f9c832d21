/** The operations of OAuth. Their refusals are in the form of RFC 6749 §5.2. */
import { z } from 'zod'
import type { DescribedAnswer, Operation } from '../../../shared/platform/http/operation.ts'
import { jsonSchemaOf, ref } from '../../../shared/platform/openapi/json-schema.ts'

const text = z.string().optional()

const clientMembers = {
  client_id: text.meta({ description: 'The id of an API key, or `keyhold`.' }),
  client_secret: text,
  client_assertion: text.meta({ description: 'RFC 7523 §2.2, signed with RS256.' }),
  client_assertion_type: text.meta({ enum: ['urn:ietf:params:oauth:client-assertion-type:jwt-bearer'] }),
}

const formOf = (members: z.ZodRawShape) => ({
  schema: jsonSchemaOf(z.object({ ...members, ...clientMembers })),
  required: true,
  mediaTypes: ['application/x-www-form-urlencoded'],
})

const error = (description: string, headers: readonly string[] = []): DescribedAnswer => ({
  description,
  schema: ref('OAuthError'),
  headers,
})

const errors = {
  400: error('`error` says what is wrong.', ['WWW-Authenticate']),
  401: error('`invalid_client`: the client did not authenticate; `invalid_token`.', ['WWW-Authenticate']),
  403: error('Credentials are accepted over HTTPS only.'),
  413: error('The body is too large.'),
  429: error('Too many failed attempts.', ['Retry-After']),
  503: error('Something this server depends on does not answer.', ['Retry-After']),
}

const ofOAuth = { tag: 'tokens', problems: [] } as const

/** POST /oauth/token. */
export const describeOAuthToken = (): Operation => ({
  ...ofOAuth,
  id: 'oauthToken',
  summary: 'Get an access token, by a refresh token or as an API key',
  body: formOf({
    grant_type: z.enum(['refresh_token', 'client_credentials']),
    refresh_token: text,
    scope: text.meta({ description: 'Of `client_credentials`: names of rights, which narrow what the token may do.' }),
  }),
  answers: { 200: { description: 'RFC 6749 §5.1.', schema: ref('OAuthTokens') }, ...errors },
  security: [],
})

/** POST /oauth/revoke. */
export const describeOAuthRevoke = (): Operation => ({
  ...ofOAuth,
  id: 'oauthRevoke',
  summary: 'End a login by either of its tokens, or one token of an API key, or one key-signed token',
  body: formOf({ token: z.string(), token_type_hint: text }),
  answers: { 200: { description: 'It is no token, or none any more.', schema: { type: 'object' } }, ...errors },
  security: [],
})

/** POST /oauth/introspect. */
export const describeOAuthIntrospect = (): Operation => ({
  ...ofOAuth,
  id: 'oauthIntrospect',
  summary: 'Ask what a token is worth',
  description: "Shown are tokens of the caller's own user, with the right `token.introspect` those of all.",
  body: formOf({ token: z.string(), token_type_hint: text }),
  answers: { 200: { description: 'RFC 7662 §2.2.', schema: ref('Introspection') }, ...errors },
})

/** GET /.well-known/oauth-authorization-server. */
export const describeOAuthMetadata = (path: string): Operation => ({
  id: path.split('/').length === 3 ? 'getOAuthMetadata' : 'getOAuthMetadataOfIssuer',
  summary: 'Read what OAuth clients need to know of this server',
  tag: 'tokens',
  headers: ['IfNoneMatch'],
  answers: {
    200: { description: 'RFC 8414.', schema: ref('OAuthMetadata'), headers: ['ETag'] },
    304: { description: 'It is still what `If-None-Match` names.', headers: ['ETag'] },
  },
  problems: [],
  security: [],
})
