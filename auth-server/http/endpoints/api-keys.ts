/** /api-keys: made, listed and revoked by their owners, and by holders of `api-key.manage` (CONTRACT sections 2 and 9). */
import { rfc3339 } from '../../../shared/platform/clock.ts'
import { type Answer, emptyAnswer, jsonAnswer, noStore } from '../../../shared/platform/http/answer.ts'
import type { HttpCall } from '../../../shared/platform/http/call.ts'
import { readBodyAs, refuseBody } from '../../../shared/platform/http/content/json-body.ts'
import { readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { Lists } from '../../../shared/platform/http/pagination/lists.ts'
import type { Method, Route } from '../../../shared/platform/http/server/routes.ts'
import { requireSecureTransport } from '../../../shared/platform/http/transport.ts'
import { type Authenticate, type Caller, requireRights } from '../../../shared/protocol/authentication/authenticate.ts'
import { isOwnAccount } from '../../../shared/protocol/authentication/own-account.ts'
import { foldUsername } from '../../../shared/protocol/principal/record.ts'
import type { ApiKey } from '../../api-keys/api-key.ts'
import type { OfOwner } from '../../api-keys/api-key-rows.ts'
import type { ApiKeysForCallers } from '../../api-keys/api-keys.ts'
import type { Audit } from '../../audit/audit.ts'
import type { RequireRecentProof } from '../../logins/recent-proof.ts'
import { requireAccount } from '../../users/own-account.ts'
import { audited } from '../audited.ts'
import { describeApiKeysRoute } from '../openapi/api-key-operations.ts'
import { apiKeyListParameters, apiKeySchema } from './api-key-bodies.ts'

export interface ApiKeysEndpointPorts {
  readonly authenticate: Authenticate
  readonly apiKeys: ApiKeysForCallers
  readonly requireRecentProof: RequireRecentProof
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
      const caller = await authenticate(call)
      if (method === 'DELETE') await refuseBody(call)
      return handle(call, caller)
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

/** The keys of other users are not there for a caller who may not manage them. @throws Refused `missing-right` */
function reachOf(caller: Caller): OfOwner {
  const { rights, username } = caller
  if (rights.has(administration)) return {}
  requireAccount(caller, username, administration)
  return { username }
}

async function create(call: HttpCall, caller: Caller, ports: ApiKeysEndpointPorts): Promise<Answer> {
  const { apiKeys, audit, requireRecentProof } = ports
  const { expiresAt, password, ...sent } = await readBodyAs(call, apiKeySchema)
  const { username = caller.username } = sent
  const asked = { ...sent, username, expiresAt: expiresAt === undefined ? undefined : Date.parse(expiresAt) }
  const about = { call, caller, action: 'api-key.created', target: username }
  const made = await audited(audit, about, async () => {
    apiKeys.refuseImpossible(asked) // values: 422, before any right
    if (!isOwnAccount(caller, username)) requireRights(caller, [administration, ...(asked.rights ?? [])])
    await requireRecentProof(caller, { password, clientAddress: call.peer.address })
    return apiKeys.create(asked, caller)
  })
  const { key, ...shownOnce } = made
  return jsonAnswer(201, { ...represent(key), ...shownOnce }, { ...noStore, location: `/api-keys/${key.id}` })
}

async function list(call: HttpCall, caller: Caller, { apiKeys, lists }: ApiKeysEndpointPorts): Promise<Answer> {
  const { username, ...parameters } = readQuery(call, apiKeyListParameters)
  const named = username ?? (caller.rights.has(administration) ? undefined : caller.username)
  const query = { username: named === undefined ? null : foldUsername(named) }
  const opened = lists.open(call, { list: 'api-keys', query }, parameters)
  if (named !== undefined) requireAccount(caller, named, administration)
  return opened.answer(await apiKeys.list({ ...opened.page, username: named }), { represent, headers: noStore })
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
