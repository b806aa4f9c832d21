/** GET /.well-known/oauth-protected-resource (RFC 9728): where OAuth clients get tokens for the deal server. */
import { cacheableResponse } from '../../shared/platform/http/cacheable.ts'
import type { Operation } from '../../shared/platform/http/operation.ts'
import type { Route } from '../../shared/platform/http/server/routes.ts'
import { resourceMetadataPath } from '../../shared/protocol/authentication/bearer/resource-metadata-url.ts'
import { ownWidth } from '../domain/own-deals.ts'
import { assignedTaskQuery, dealHistoryQuery, dealQuery } from '../queries/queries.ts'
import { rightsOfCommands } from '../use-cases/index.ts'

interface ResourceMetadataSettings {
  /** The origin that clients see: the identifier of the resource. */
  readonly publicOrigin: string
  /** The claim `iss` of access tokens. */
  readonly issuer: string
}

/** The route of the metadata. It needs no caller. */
export function resourceMetadataRoute(settings: ResourceMetadataSettings): Route {
  const body = JSON.stringify(metadataOf(settings))
  return {
    methods: ['GET'],
    path: resourceMetadataPath,
    describe: () => [operation],
    handle: (request) =>
      cacheableResponse(request, {
        contentType: 'application/json',
        cacheControl: 'public, max-age=300, must-revalidate',
        body,
        headers: { 'access-control-allow-origin': '*' },
      }),
  }
}

/** RFC 9728 §2. An issuer that is no URL cannot be discovered, so it is left out. */
const metadataOf = ({ publicOrigin, issuer }: ResourceMetadataSettings) => ({
  resource: publicOrigin,
  ...(/^https?:\/\//.test(issuer) && { authorization_servers: [issuer] }),
  scopes_supported: scopes,
  bearer_methods_supported: ['header'],
  resource_name: 'Keyhold deal server',
  resource_documentation: `${publicOrigin}/rest/docs`,
})

/** In both widths: a user whose right is for own deals alone can give no more. */
const scopes = [
  ...[dealQuery, dealHistoryQuery].flatMap(({ right }) => [right, ownWidth(right)]),
  assignedTaskQuery.right,
  ...rightsOfCommands.map(({ name }) => name),
]

const texts = { type: 'array', items: { type: 'string' } } as const

const operation: Operation = {
  id: 'getResourceMetadata',
  tags: ['documentation'],
  security: [],
  headers: ['IfNoneMatch'],
  summary: 'Read where OAuth clients get tokens for this server',
  description: 'RFC 9728: the authorization server, the scopes, and how a token is sent. Challenges of Bearer name it.',
  responses: {
    200: {
      description: 'RFC 9728 §2.',
      schema: {
        type: 'object',
        required: ['resource', 'scopes_supported', 'bearer_methods_supported'],
        properties: {
          resource: { type: 'string' },
          authorization_servers: texts,
          scopes_supported: texts,
          bearer_methods_supported: texts,
          resource_name: { type: 'string' },
          resource_documentation: { type: 'string' },
        },
      },
      headers: ['ETag'],
    },
    304: { description: 'It is still what `If-None-Match` names.', headers: ['ETag'] },
  },
  problems: [],
}
