/**
 * /clients: holders of `client.manage` make, list, change, rotate and delete clients
 * (docs/contract/sign-in.md#clients).
 */
import * as z from 'zod'
import { rfc3339 } from '../../../shared/platform/clock.ts'
import { pageParameters } from '../../../shared/platform/http/content/query-parameters.ts'
import { pageOf } from '../../../shared/platform/http/pagination/page-schema.ts'
import { component, defineEndpoint, jsonBody, time } from '../../../shared/server/endpoints/endpoint.ts'
import type { Client, ClientValues } from '../../clients/client.ts'
import { ownResourceServer } from '../../principals/rights.ts'
import { lineText } from '../request-parts/line-text.ts'
import { proofMembers, proofOf, proofProblems } from '../request-parts/recent-proof-members.ts'
import type { AuthServices } from '../services/auth-services.ts'
import { secretRotationSchema } from './api-key-schemas.ts'

const uri = z.string().min(1).max(1_000)
const uris = z.array(uri).max(20)

/** Whether commands of a client run at once. */
export const clientMode = z.enum(['run', 'propose']).meta({
  description: '`propose`: commands on deals that it sends wait until somebody approves them.',
})

const valuesSchema = z.strictObject({
  name: lineText(1, 100).meta({ description: 'Another one than that of each other client. Users see it.' }),
  redirectUris: uris.min(1).meta({
    description:
      'Absolute URLs, compared character by character. `http` on 127.0.0.1 or [::1] without a port: any port.',
  }),
  postLogoutRedirectUris: uris,
  firstParty: z.boolean().meta({ description: 'Users are not asked for their consent.' }),
  rights: z.array(z.string().max(200)).max(200).nullable().meta({
    description: 'The rights that its tokens may have, of those of the user. Null: all, of a first-party client alone.',
  }),
  resourceServers: z.array(z.string().max(63)).min(1).max(50).meta({
    description: 'Ids of the resource servers that its tokens may be for.',
  }),
  needsRight: z.string().max(200).nullable().meta({ description: 'The right that a user needs to sign in to it.' }),
  requirePkce: z.boolean().meta({
    description: 'False: a confidential client may leave PKCE out when it sends `nonce`.',
  }),
  mode: clientMode,
  publicKeyPem: z.string().max(10_000).nullable().meta({
    description: 'An RSA key for `private_key_jwt`, in place of a secret.',
  }),
})

const { shape } = valuesSchema

const creationSchema = valuesSchema.extend({
  kind: z.enum(['public', 'confidential']),
  postLogoutRedirectUris: shape.postLogoutRedirectUris.default([]),
  firstParty: shape.firstParty.default(false),
  rights: shape.rights.default(null),
  resourceServers: shape.resourceServers.default([ownResourceServer]),
  needsRight: shape.needsRight.default(null),
  requirePkce: shape.requirePkce.default(true),
  mode: shape.mode.default('run'),
  publicKeyPem: shape.publicKeyPem.default(null),
  ...proofMembers,
})

/** Each member that is present replaces the stored value. */
const patchSchema = valuesSchema.partial().extend(proofMembers)

const clientSchema = z.object({
  id: z.string().meta({ format: 'uuid', description: 'The parameter `client_id`.' }),
  ...shape,
  kind: creationSchema.shape.kind,
  createdAt: time,
  updatedAt: time,
  formerUntil: time.nullable().meta({ description: 'Until when the secret before the last rotation is accepted too.' }),
  lastUsedAt: time.nullable().meta({ description: 'Moves in steps of a minute.' }),
})

const newClientSchema = clientSchema.extend({
  secret: z.string().optional().meta({ description: 'Of a confidential client without a key. Shown only now.' }),
})

const clientComponent = component('Client', clientSchema)
const newClientComponent = component('NewClient', newClientSchema)

const represent = (client: Client, now: number) => ({
  ...client,
  createdAt: rfc3339(client.createdAt),
  updatedAt: rfc3339(client.updatedAt),
  formerUntil: client.formerUntil === null || client.formerUntil <= now ? null : rfc3339(client.formerUntil),
  lastUsedAt: client.lastUsedAt === null ? null : rfc3339(client.lastUsedAt),
})

/** Common members of all these routes. */
const ofClients = { tag: 'clients', right: 'client.manage' } as const

/** Common members of the routes of one client. */
const ofOneClient = { ...ofClients, path: '/clients/:id' } as const

const valueProblems = [...proofProblems, 'client-exists']

/** Creates the endpoints of clients. */
export const clientsEndpoints = ({ clients, requireRecentProof, clock, lists }: AuthServices) => [
  defineEndpoint({
    ...ofClients,
    method: 'POST',
    path: '/clients',
    id: 'createClient',
    summary: 'Register an application that signs people in',
    description:
      'A confidential client without `publicKeyPem` gets a secret, which is shown in this answer and never again. You ' +
      'need every right that its tokens may have, and your password or a sign-in younger than five minutes.',
    body: jsonBody(creationSchema),
    status: 201,
    success: { description: 'The new client.', headers: ['Location'] },
    response: newClientComponent,
    problems: [...valueProblems, 'too-many-clients'],
    audit: () => ({ action: 'client.created' }),
    handle: async ({ request, caller, body }) => {
      await requireRecentProof(caller, proofOf(request, body))
      const { password: _password, code: _code, ...values } = body
      const { client, secret } = await clients.create(values, caller)
      const headers = { location: `/clients/${client.id}` }
      return { body: { ...represent(client, clock.now()), secret }, headers }
    },
  }),
  defineEndpoint({
    ...ofClients,
    method: 'GET',
    path: '/clients',
    id: 'listClients',
    summary: 'List the clients',
    description: 'Without their secrets.',
    query: pageParameters,
    success: { description: 'Clients, oldest first.', headers: ['Link'] },
    response: component('ClientPage', pageOf(clientSchema)),
    problems: ['invalid-cursor'],
    check: ({ request, query }) => lists.open(request, { list: 'clients', query: {} }, query),
    handle: async ({ checked: list }) =>
      list.reply(await clients.list(list.page), (client) => represent(client, clock.now())),
  }),
  defineEndpoint({
    ...ofOneClient,
    method: 'GET',
    id: 'getClient',
    summary: 'Read a client',
    description: 'Without its secret.',
    success: { description: 'The client.' },
    response: clientComponent,
    problems: ['not-found'],
    handle: async ({ path }) => ({ body: represent(await clients.read(path.id), clock.now()) }),
  }),
  defineEndpoint({
    ...ofOneClient,
    method: 'PATCH',
    id: 'patchClient',
    summary: 'Change a client',
    description:
      'Each member that is present replaces the stored value. What was issued before keeps its rights until it is ' +
      'refreshed.',
    body: jsonBody(patchSchema),
    success: { description: 'The client.' },
    response: clientComponent,
    problems: [...valueProblems, 'not-found'],
    audit: ({ path }) => ({ action: 'client.changed', target: path.id.toLowerCase() }),
    handle: async ({ request, caller, path, body }) => {
      await requireRecentProof(caller, proofOf(request, body))
      const { password: _password, code: _code, ...sent } = body
      // JSON has no undefined: a member that is absent in the body is absent here.
      const patch = sent as Partial<ClientValues>
      return { body: represent(await clients.patch(path.id, { patch, grantor: caller }), clock.now()) }
    },
  }),
  defineEndpoint({
    ...ofOneClient,
    method: 'POST',
    path: '/clients/:id/rotate',
    id: 'rotateClient',
    summary: 'Give a client a new secret',
    description:
      'The id stays. The former secret is accepted too, for a day unless you say otherwise. Another rotation ends ' +
      'that. A secret that others have seen needs `overlapSeconds: 0`.',
    body: jsonBody(secretRotationSchema),
    success: { description: 'The client with its new secret, which is shown only now.' },
    response: newClientComponent,
    problems: [...proofProblems, 'not-found', 'client-without-secret'],
    audit: ({ path }) => ({ action: 'client.rotated', target: path.id.toLowerCase() }),
    handle: async ({ request, caller, path, body }) => {
      await requireRecentProof(caller, proofOf(request, body))
      const { overlapSeconds } = body
      const { client, secret } = await clients.rotate(path.id, { overlapSeconds, grantor: caller })
      return { body: { ...represent(client, clock.now()), secret } }
    },
  }),
  defineEndpoint({
    ...ofOneClient,
    method: 'DELETE',
    id: 'deleteClient',
    summary: 'Delete a client',
    description: 'Its secret and its refresh tokens are refused at once, and its access tokens within a second.',
    success: { description: 'There is no such client any more.' },
    problems: ['not-found'],
    audit: ({ path }) => ({ action: 'client.deleted', target: path.id.toLowerCase() }),
    handle: ({ path }) => clients.delete(path.id),
  }),
]
