/** /api-keys: made, listed and revoked by their owners, and by holders of `api-key.manage` (CONTRACT sections 2 and 9). */
import { rfc3339 } from '../../../shared/clock.ts'
import { type Answer, emptyAnswer, jsonAnswer, noStore } from '../../../shared/http/answer.ts'
import type { HttpCall } from '../../../shared/http/call.ts'
import { readBodyAs } from '../../../shared/http/json-body.ts'
import type { Lists } from '../../../shared/http/lists.ts'
import { readQuery } from '../../../shared/http/query-parameters.ts'
import type { Method, Route } from '../../../shared/http/routes.ts'
import { requireSecureTransport } from '../../../shared/http/transport.ts'
import { foldUsername } from '../../../shared/principals/record.ts'
import { type Authenticate, type Caller, requireRights } from '../../../shared/schemes/authenticate.ts'
import { type ApiKey, rightsWithin } from '../../api-keys/api-key.ts'
import type { OfOwner } from '../../api-keys/api-key-rows.ts'
import type { ApiKeys } from '../../api-keys/api-keys.ts'
import type { Audit } from '../../audit/audit.ts'
import { audited } from '../audited.ts'
import { describeApiKeysRoute } from '../openapi/api-key-operations.ts'
import { apiKeyListParameters, apiKeySchema } from './api-key-bodies.ts'

export interface ApiKeysEndpointPorts {
  readonly authenticate: Authenticate
  readonly apiKeys: ApiKeys
  readonly lists: Lists
  readonly audit: Audit
}

const administration = 'api-key.manage'

type Handle = (call: HttpCall, caller: Caller) => Promise<Answer>

export function apiKeysRoutes(ports: ApiKeysEndpointPorts): Route[] {
  const { authenticate, apiKeys } = ports
  const route = (method: Method, path: string, handle: Handle): Route => ({
    methods: [method],
    path,
    describe: () => [describeApiKeysRoute(method, path)],
    handle: async (call) => {
      await call.readBody()
      requireSecureTransport(call.peer)
      return handle(call, await authenticate(call))
    },
  })
  return [
    route('POST', '/api-keys', (call, caller) => create(call, caller, ports)),
    route('GET', '/api-keys', (call, caller) => list(call, caller, ports)),
    route('GET', '/api-keys/:id', async (call, caller) =>
      jsonAnswer(200, represent(await apiKeys.read(idOf(call), reachOf(caller))), noStore),
    ),
    route('DELETE', '/api-keys/:id', async (call, caller) => {
      const about = { call, caller, action: 'api-key.revoked', target: idOf(call) }
      await audited(ports.audit, about, () => apiKeys.revoke(idOf(call), reachOf(caller)))
      return emptyAnswer(204, noStore)
    }),
  ]
}

const idOf = (call: HttpCall): string => (call.pathParameters.id ?? '').toLowerCase()

const isSelf = (caller: Caller, username: string): boolean => foldUsername(username) === foldUsername(caller.username)

/** Another's key is not there for those who may not manage it. */
const reachOf = ({ rights, username }: Caller): OfOwner => (rights.has(administration) ? {} : { username })

async function create(call: HttpCall, caller: Caller, { apiKeys, audit }: ApiKeysEndpointPorts): Promise<Answer> {
  const { expiresAt, ...sent } = await readBodyAs(call, apiKeySchema)
  const { username = caller.username } = sent
  const asked = { ...sent, username, expiresAt: expiresAt === undefined ? undefined : Date.parse(expiresAt) }
  const about = { call, caller, action: 'api-key.created', target: username }
  const made = await audited(audit, about, async () => {
    apiKeys.refuseImpossible(asked) // values: 422, before any right
    if (!isSelf(caller, username)) requireRights(caller, [administration])
    return apiKeys.create({ ...asked, rights: rightsWithin(asked.rights, caller.credential.rights) })
  })
  const { key, ...shownOnce } = made
  return jsonAnswer(201, { ...represent(key), ...shownOnce }, { ...noStore, location: `/api-keys/${key.id}` })
}

async function list(call: HttpCall, caller: Caller, { apiKeys, lists }: ApiKeysEndpointPorts): Promise<Answer> {
  const { username, ...parameters } = readQuery(call, apiKeyListParameters)
  const owner = username === undefined ? reachOf(caller) : { username }
  const query = { username: owner.username === undefined ? null : foldUsername(owner.username) }
  const opened = lists.open(call, { list: 'api-keys', query }, parameters)
  if (username !== undefined && !isSelf(caller, username)) requireRights(caller, [administration])
  return opened.answer(await apiKeys.list({ ...opened.page, ...owner }), { represent, headers: noStore })
}

const represent = ({ createdAt, expiresAt, lastUsedAt, publicKeyPem, ...key }: ApiKey) => ({
  id: key.id,
  kind: key.kind,
  username: key.username,
  name: key.name,
  requireBodyHash: key.requireBodyHash,
  rights: key.rights,
  ...(publicKeyPem === null ? {} : { publicKeyPem }),
  createdAt: rfc3339(createdAt),
  expiresAt: expiresAt === null ? null : rfc3339(expiresAt),
  lastUsedAt: lastUsedAt === null ? null : rfc3339(lastUsedAt),
})
