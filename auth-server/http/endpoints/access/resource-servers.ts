/** /resource-servers: the services whose rights are granted here (docs/contract/accounts.md#catalogue). */
import * as z from 'zod'
import { rfc3339 } from '../../../../shared/platform/clock.ts'
import { component, defineEndpoint, jsonBody, time } from '../../../../shared/server/endpoints/endpoint.ts'
import type { ResourceServer } from '../../../access/resource-servers.ts'
import { requireMatch, tagged } from '../../request-parts/entity-tag.ts'
import { lineText } from '../../request-parts/line-text.ts'
import type { AuthServices } from '../../services/auth-services.ts'

/** Common members of all these routes. */
const ofServers = { tag: 'access', right: 'resource-server.manage' } as const

/** RFC 8707 §2: an absolute URI without a fragment. */
const audienceSchema = z
  .string()
  .max(255)
  .regex(/^[a-z][a-z0-9+.-]*:[!"$-~]+$/i, 'Expected an absolute URI without a fragment')

const rightSchema = z.strictObject({
  name: z
    .string()
    .max(100)
    .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+(:own)?$/, 'Expected a thing and a verb, such as invoice.approve'),
  description: lineText(0, 200).default(''),
  readsOnly: z.boolean().default(false).meta({ description: 'True for a right that only reads.' }),
})

const rightsSchema = z
  .array(rightSchema)
  .max(500)
  .refine((rights) => new Set(rights.map(({ name }) => name)).size === rights.length, 'Expected each name once')

const nameSchema = lineText(1, 100)

const creationSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'Expected 1 to 63 small letters, digits or hyphens'),
  audience: audienceSchema,
  name: nameSchema,
  rights: rightsSchema.default([]),
})

/** Each member that is present replaces the stored value. */
const patchSchema = creationSchema.omit({ id: true }).extend({ rights: rightsSchema }).partial()

const serverComponent = component(
  'ResourceServer',
  z.object({
    id: z.string(),
    audience: z.string().meta({ description: 'The claim `aud` of its tokens, and their `resource` (RFC 8707).' }),
    name: z.string(),
    rights: z.array(z.object({ name: z.string(), description: z.string(), readsOnly: z.boolean() })),
    createdAt: time.meta({ description: 'When it got its audience. RFC 3339.' }),
    updatedAt: time,
  }),
)

const represent = ({ id, audience, name, rights, createdAt, updatedAt }: ResourceServer) => ({
  id,
  audience,
  name,
  rights,
  createdAt: rfc3339(createdAt),
  updatedAt: rfc3339(updatedAt),
})

/** Creates the endpoints for resource servers. */
export const resourceServersEndpoints = ({ resourceServers }: AuthServices) => [
  defineEndpoint({
    method: 'GET',
    path: '/resource-servers',
    id: 'listResourceServers',
    summary: 'List resource servers',
    description: 'All of them, with their rights, in the order of their ids. The pair itself is `deals`.',
    ...ofServers,
    success: { description: 'Resource servers.' },
    response: component('ResourceServerList', z.object({ items: z.array(serverComponent.schema) })),
    handle: async () => ({ body: { items: (await resourceServers.list()).map(represent) } }),
  }),
  defineEndpoint({
    method: 'POST',
    path: '/resource-servers',
    id: 'createResourceServer',
    summary: 'Create a resource server',
    description:
      'With an audience and rights of its own. The role `admin` has them at once; other roles are given them.',
    ...ofServers,
    body: jsonBody(creationSchema),
    status: 201,
    success: { description: 'The new resource server.', headers: ['Location'] },
    response: serverComponent,
    problems: ['resource-server-exists', 'right-exists', 'too-many-resource-servers', 'too-many-rights'],
    audit: ({ body }) => ({ action: 'resource-server.created', target: body.id }),
    handle: async ({ body }) => ({
      body: represent(await resourceServers.create(body)),
      headers: { location: `/resource-servers/${body.id}` },
    }),
  }),
  defineEndpoint({
    method: 'GET',
    path: '/resource-servers/:id',
    id: 'getResourceServer',
    summary: 'Read a resource server',
    description: 'Needs the right `resource-server.manage`. With its rights.',
    ...ofServers,
    success: { description: 'The resource server.', headers: ['ETag'] },
    response: serverComponent,
    problems: ['not-found'],
    handle: async ({ path }) => tagged(represent(await resourceServers.read(path.id))),
  }),
  defineEndpoint({
    method: 'PATCH',
    path: '/resource-servers/:id',
    id: 'patchResourceServer',
    summary: 'Replace the name, the audience or the rights of a resource server',
    description:
      'A right that is not in `rights` is withdrawn: from every role, user and API key, within a second. You need it ' +
      'yourself. Tokens for a former audience are refused.',
    ...ofServers,
    body: jsonBody(patchSchema, { required: false }),
    success: { description: 'The resource server.', headers: ['ETag'] },
    response: serverComponent,
    problems: [
      'not-found',
      'precondition-failed',
      'resource-server-exists',
      'right-exists',
      'reserved-resource-server',
      'too-many-rights',
    ],
    audit: ({ path }) => ({ action: 'resource-server.changed', target: path.id }),
    requestHeaders: ['IfMatch'],
    handle: async ({ request, path, body, caller }) => {
      const requires = (now: ResourceServer) => requireMatch(request, represent(now))
      return tagged(represent(await resourceServers.patch(path.id, { ...body, requires }, caller)))
    },
  }),
  defineEndpoint({
    method: 'DELETE',
    path: '/resource-servers/:id',
    id: 'deleteResourceServer',
    summary: 'Delete a resource server',
    description: 'Its rights and the credentials of its services end within a second. You need its rights yourself.',
    ...ofServers,
    success: { description: 'There is no such resource server any more.' },
    requestHeaders: ['IfMatch'],
    problems: ['not-found', 'reserved-resource-server', 'precondition-failed'],
    audit: ({ path }) => ({ action: 'resource-server.deleted', target: path.id }),
    handle: async ({ request, path, caller }) => {
      await resourceServers.delete(path.id, caller, (now) => requireMatch(request, represent(now)))
    },
  }),
]
