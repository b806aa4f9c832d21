/**
 * /services: holders of `resource-server.manage` make, list, rotate and delete services
 * (docs/contract/services.md#administering-services).
 */
import * as z from 'zod'
import { rfc3339 } from '../../../shared/platform/clock.ts'
import { pageParameters } from '../../../shared/platform/http/content/query-parameters.ts'
import { pageOf } from '../../../shared/platform/http/pagination/page-schema.ts'
import { component, defineEndpoint, jsonBody, time } from '../../../shared/server/endpoints/endpoint.ts'
import type { Service } from '../../services/service.ts'
import { lineText } from '../request-parts/line-text.ts'
import { proofMembers, proofOf, proofProblems } from '../request-parts/recent-proof-members.ts'
import type { AuthServices } from '../services/auth-services.ts'
import { secretRotationSchema } from './api-key-schemas.ts'

const resourceServerId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/)

const creationSchema = z.strictObject({
  name: lineText(1, 100).meta({ description: 'Another one than that of each other service.' }),
  resourceServer: resourceServerId.meta({ description: 'The id of the resource server that the service belongs to.' }),
  ...proofMembers,
})

const serviceSchema = z.object({
  id: z.string().meta({ format: 'uuid', description: 'The name in HTTP Basic, and `client_id` at `/oauth/token`.' }),
  name: z.string(),
  resourceServer: z.string(),
  createdAt: time,
  formerUntil: time.nullable().meta({ description: 'Until when the secret before the last rotation is accepted too.' }),
  lastUsedAt: time.nullable().meta({ description: 'Moves in steps of a minute.' }),
})

const newServiceSchema = serviceSchema.extend({ secret: z.string().meta({ description: 'Shown only now.' }) })

const serviceComponent = component('Service', serviceSchema)
const newServiceComponent = component('NewService', newServiceSchema)

const represent = ({ createdAt, formerUntil, lastUsedAt, ...service }: Service, now: number) => ({
  id: service.id,
  name: service.name,
  resourceServer: service.resourceServer,
  createdAt: rfc3339(createdAt),
  formerUntil: formerUntil === null || formerUntil <= now ? null : rfc3339(formerUntil),
  lastUsedAt: lastUsedAt === null ? null : rfc3339(lastUsedAt),
})

/** Common members of all these routes. */
const ofServices = { tag: 'services', right: 'resource-server.manage' } as const

/** Common members of the routes of one service. */
const ofOneService = { ...ofServices, path: '/services/:id' } as const

/** Creates the endpoints of services. */
export const servicesEndpoints = ({ services, requireRecentProof, clock, lists }: AuthServices) => [
  defineEndpoint({
    ...ofServices,
    method: 'POST',
    path: '/services',
    id: 'createService',
    summary: 'Make a credential for a service',
    description:
      'With its id and secret, another program than the deal server checks callers with this auth server. The secret ' +
      'is shown in this answer and never again. Needs your password or a login younger than five minutes.',
    body: jsonBody(creationSchema),
    status: 201,
    success: { description: 'The new service.', headers: ['Location'] },
    response: newServiceComponent,
    problems: [...proofProblems, 'service-exists', 'too-many-services'],
    audit: () => ({ action: 'service.created' }),
    handle: async ({ request, caller, body }) => {
      const { name, resourceServer } = body
      await requireRecentProof(caller, proofOf(request, body))
      const { service, secret } = await services.create({ name, resourceServer })
      const headers = { location: `/services/${service.id}` }
      return { body: { ...represent(service, clock.now()), secret }, headers }
    },
  }),
  defineEndpoint({
    ...ofServices,
    method: 'GET',
    path: '/services',
    id: 'listServices',
    summary: 'List the services',
    description: 'Without their secrets.',
    query: pageParameters.extend({
      resourceServer: resourceServerId.optional().meta({ description: 'The services of this resource server alone.' }),
    }),
    success: { description: 'Services, oldest first.', headers: ['Link'] },
    response: component('ServicePage', pageOf(serviceSchema)),
    problems: ['invalid-cursor'],
    check: ({ request, query: { resourceServer, ...page } }) =>
      lists.open(request, { list: 'services', query: { resourceServer: resourceServer ?? null } }, page),
    handle: async ({ query: { resourceServer }, checked: list }) => {
      const page = await services.list({ ...list.page, resourceServer })
      return list.reply(page, (service) => represent(service, clock.now()))
    },
  }),
  defineEndpoint({
    ...ofOneService,
    method: 'GET',
    id: 'getService',
    summary: 'Read a service',
    description: 'Without its secret.',
    success: { description: 'The service.' },
    response: serviceComponent,
    problems: ['not-found'],
    handle: async ({ path }) => ({
      body: represent(await services.read(path.id.toLowerCase()), clock.now()),
    }),
  }),
  defineEndpoint({
    ...ofOneService,
    method: 'POST',
    path: '/services/:id/rotate',
    id: 'rotateService',
    summary: 'Give a service a new secret',
    description:
      'The id stays. The former secret is accepted too, for a day unless you say otherwise, so that the service can ' +
      'change over. Another rotation ends that. A secret that others have seen needs `overlapSeconds: 0`.',
    body: jsonBody(secretRotationSchema),
    success: { description: 'The service with its new secret, which is shown only now.' },
    response: newServiceComponent,
    problems: [...proofProblems, 'not-found'],
    audit: ({ path }) => ({ action: 'service.rotated', target: path.id.toLowerCase() }),
    handle: async ({ request, caller, path, body }) => {
      await requireRecentProof(caller, proofOf(request, body))
      const { service, secret } = await services.rotate(path.id.toLowerCase(), body.overlapSeconds)
      return { body: { ...represent(service, clock.now()), secret } }
    },
  }),
  defineEndpoint({
    ...ofOneService,
    method: 'DELETE',
    id: 'deleteService',
    summary: 'Delete a service',
    description: 'Within a second its secret and its tokens are refused, and its streams end.',
    success: { description: 'There is no such service any more.' },
    problems: ['not-found'],
    audit: ({ path }) => ({ action: 'service.deleted', target: path.id.toLowerCase() }),
    handle: ({ path }) => services.delete(path.id.toLowerCase()),
  }),
]
