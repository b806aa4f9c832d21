/**
 * /api-keys: owners, and holders of `api-key.manage`, create, list and revoke API keys
 * (docs/contract/accounts.md#api-keys).
 */
import * as z from 'zod'
import { pageParameters } from '../../../shared/platform/http/content/query-parameters.ts'
import { pageOf } from '../../../shared/platform/http/pagination/page-schema.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import { foldUsername, isUsername } from '../../../shared/protocol/principal/record.ts'
import { component, defineEndpoint, jsonBody } from '../../../shared/server/endpoints/endpoint.ts'
import type { ApiKeyRequest } from '../../api-keys/api-key.ts'
import type { OfOwner } from '../../api-keys/api-key-rows.ts'
import { factorRequired } from '../../logins/recent-proof.ts'
import { proofOf, proofProblems, proofSchema } from '../request-parts/recent-proof-members.ts'
import type { AuthServices } from '../services/auth-services.ts'
import { apiKeySchema, creationSchema, newApiKeySchema, representApiKey, rotationSchema } from './api-key-schemas.ts'

const right = 'api-key.manage'
const tag = 'api-keys'
const apiKeyComponent = component('ApiKey', apiKeySchema)
const newApiKeyComponent = component('NewApiKey', newApiKeySchema)

const listParameters = pageParameters.extend({
  username: z
    .string()
    .refine(isUsername, 'Expected a user name')
    .optional()
    .meta({ description: 'The keys of this user; needs `api-key.manage` for another.' }),
})

/** Creates the endpoints of API keys. */
export const apiKeysEndpoints = ({ apiKeys, requireRecentProof, clock, lists }: AuthServices) => [
  defineEndpoint({
    method: 'POST',
    path: '/api-keys',
    id: 'createApiKey',
    summary: 'Make an API key',
    description:
      'Its secret or private key is shown in this answer and never again. ' +
      'Needs your password or a login younger than five minutes. ' +
      'A key for another user carries no right that you lack.',
    tag,
    body: jsonBody(creationSchema),
    right,
    account: ({ caller, body: { username = caller.username } }) => username,
    check: async ({ caller, body }) => {
      const wanted = requestedKey(caller, body)
      await apiKeys.refuseImpossible(wanted)
      return wanted
    },
    grants: ({ body }) => body.rights ?? [],
    status: 201,
    success: { description: 'The new key.', headers: ['Location'] },
    response: newApiKeyComponent,
    problems: [...proofProblems, 'not-found', 'too-many-api-keys', 'too-many-key-pairs'],
    audit: ({ caller, body: { username = caller.username } }) => ({ action: 'api-key.created', target: username }),
    handle: async ({ request, caller, body, checked: wanted }) => {
      const { withFactor: isConfirmed } = await requireRecentProof(caller, proofOf(request, body))
      const { key, ...shownOnce } = await apiKeys.create({ ...wanted, isConfirmed }, caller)
      return {
        body: { ...representApiKey(key, clock.now()), ...shownOnce },
        headers: { location: `/api-keys/${key.id}` },
      }
    },
  }),
  defineEndpoint({
    method: 'GET',
    path: '/api-keys',
    id: 'listApiKeys',
    summary: 'List your API keys, or with the right to, those of others',
    description: 'Holders of `api-key.manage` get everybody’s, unless they name a user.',
    tag,
    query: listParameters,
    right,
    account: ({ caller, query: { username = caller.username } }) => username,
    success: { description: 'API keys, oldest first.', headers: ['Link'] },
    response: component('ApiKeyPage', pageOf(apiKeySchema)),
    problems: ['invalid-cursor'],
    check: ({ request, caller, query: { username, ...page } }) => {
      const owner = listedOwner(caller, username)
      const query = { username: owner === undefined ? null : foldUsername(owner) }
      return lists.open(request, { list: 'api-keys', query }, page)
    },
    handle: async ({ caller, query, checked: list }) => {
      const username = listedOwner(caller, query.username)
      const page = await apiKeys.list({ ...list.page, username })
      return list.reply(page, (key) => representApiKey(key, clock.now()))
    },
  }),
  defineEndpoint({
    ...ofOneKey,
    method: 'GET',
    id: 'getApiKey',
    summary: 'Read an API key',
    description: 'Without its secret. Your own keys; those of others need the right `api-key.manage`.',
    success: { description: 'The key.' },
    response: apiKeyComponent,
    problems: ['not-found'],
    handle: async ({ caller, path }) => ({
      body: representApiKey(await apiKeys.read(path.id.toLowerCase(), reachOf(caller)), clock.now()),
    }),
  }),
  defineEndpoint({
    ...ofOneKey,
    method: 'POST',
    path: '/api-keys/:id/rotate',
    id: 'rotateApiKey',
    summary: 'Give an API key a new secret or key pair',
    description:
      'The id, the rights and the tokens of the key stay. The former secret or key pair is accepted too, for a day ' +
      'unless you say otherwise, so that programs can change over. Another rotation ends that. A secret that others ' +
      'have seen needs `overlapSeconds: 0`, or better a new key: tokens made with it live on.',
    body: jsonBody(rotationSchema),
    success: { description: 'The key with its new secret or private key, which is shown only now.' },
    response: newApiKeyComponent,
    problems: [...proofProblems, 'not-found', 'too-many-key-pairs'],
    audit: ({ path }) => ({ action: 'api-key.rotated', target: path.id.toLowerCase() }),
    handle: async ({ request, caller, path, body }) => {
      const { withFactor: isConfirmed } = await requireRecentProof(caller, proofOf(request, body))
      const { publicKeyPem, overlapSeconds, expiresAt: sent } = body
      const expiresAt = sent == null ? sent : Date.parse(sent)
      const rotation = { publicKeyPem, overlapSeconds, expiresAt, isConfirmed }
      const by = { owner: reachOf(caller), grantor: caller }
      const { key, ...shownOnce } = await apiKeys.rotate(path.id.toLowerCase(), rotation, by)
      return { body: { ...representApiKey(key, clock.now()), ...shownOnce } }
    },
  }),
  defineEndpoint({
    ...ofOneKey,
    method: 'POST',
    path: '/api-keys/:id/confirm',
    id: 'confirmApiKey',
    summary: 'Confirm an API key that was made without a second factor',
    description:
      'A key that was made without a second factor is suspended while its owner has or needs one. Needs a login with ' +
      'the factor, or your password and a one-time code. Do not confirm a key that you do not know: revoke it.',
    body: jsonBody(proofSchema, { required: false }),
    success: { description: 'The key, which is good again.' },
    response: apiKeyComponent,
    problems: [...proofProblems, 'not-found'],
    audit: ({ path }) => ({ action: 'api-key.confirmed', target: path.id.toLowerCase() }),
    handle: async ({ request, caller, path, body }) => {
      const { withFactor } = await requireRecentProof(caller, proofOf(request, body))
      if (!withFactor) throw factorRequired('Only a login with a second factor confirms a key.')
      const key = await apiKeys.confirm(path.id.toLowerCase(), { owner: reachOf(caller), grantor: caller })
      return { body: representApiKey(key, clock.now()) }
    },
  }),
  defineEndpoint({
    ...ofOneKey,
    method: 'DELETE',
    id: 'revokeApiKey',
    summary: 'Revoke an API key',
    description: 'It signs nothing any more, and the tokens made with it die.',
    success: { description: 'The key is revoked.' },
    problems: ['not-found'],
    audit: ({ path }) => ({ action: 'api-key.revoked', target: path.id.toLowerCase() }),
    handle: ({ caller, path }) => apiKeys.revoke(path.id.toLowerCase(), reachOf(caller)),
  }),
]

function requestedKey(
  caller: Caller,
  { expiresAt, password: _, code: __, ...sent }: z.output<typeof creationSchema>,
): ApiKeyRequest {
  const { username = caller.username } = sent
  return { ...sent, username, expiresAt: expiresAt === undefined ? undefined : Date.parse(expiresAt) }
}

/** The owner of the listed keys. Without a name, holders of the right list the keys of all users, others their own. */
const listedOwner = (caller: Caller, username: string | undefined): string | undefined =>
  username ?? (caller.rights.has(right) ? undefined : caller.username)

/** Common members of the routes of one key. Without the right, the keys of other users do not exist for a caller. */
const ofOneKey = {
  path: '/api-keys/:id',
  tag,
  right,
  account: ({ caller }: { readonly caller: Caller }) => caller.username,
} as const

const reachOf = ({ rights, username }: Caller): OfOwner => (rights.has(right) ? {} : { username })
