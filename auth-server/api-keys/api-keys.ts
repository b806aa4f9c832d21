/** What can be done with API keys. Every change has been announced when its promise resolves. */
import type { Page, PageRequest } from '../../shared/platform/pagination.ts'
import type { StoredSigningKey } from '../../shared/protocol/authentication/signed-request/signing-key.ts'
import type { Giver } from '../users/gifts.ts'
import { type PrincipalPublisher, whenPublished } from '../users/principal-publisher.ts'
import { type ApiKey, type ApiKeyRequest, type NewApiKey, refuseImpossible } from './api-key.ts'
import { listApiKeys, type OfOwner, readApiKey } from './api-key-rows.ts'
import { type ChangeApiKeysPorts, insertApiKey, revokeApiKey } from './change-api-keys.ts'
import { hasSecret, readMaterial } from './key-material.ts'
import { keepForTokens, noteUse } from './key-use.ts'
import { createPairLimit } from './pair-limit.ts'
import { createRsaGenerator } from './rsa-keys.ts'

/** Everything that is asynchronous throws Unavailable. */
export interface ApiKeys {
  /** Refuses what no key can be, as `create` does. @throws ProblemError `invalid-value` */
  refuseImpossible(request: ApiKeyRequest): void
  /**
   * A key for `giver`, who is its owner or has the rights that it carries. Without `giver`: for the server itself.
   * @throws ProblemError `invalid-value`, `not-found` for an unknown owner, `too-many-api-keys`, `missing-right`, `too-many-key-pairs`
   */
  create(request: ApiKeyRequest, giver?: Giver): Promise<NewApiKey>
  list(page: PageRequest & OfOwner): Promise<Page<ApiKey>>
  /** @throws ProblemError `not-found` */
  read(id: string, owner: OfOwner): Promise<ApiKey>
  /** The key signs nothing any more, and the tokens made with it die. @throws ProblemError `not-found` */
  revoke(id: string, owner: OfOwner): Promise<void>
  /** What a key verifies with; undefined when it does not exist, was revoked or has expired. */
  material(id: string): Promise<StoredSigningKey | undefined>
  /** The key of kind `hmac` with this id and secret (RFC 6749 §2.3.1); unknown and wrong take the same time. */
  authenticateClient(id: string, secret: string): Promise<StoredSigningKey | undefined>
  /**
   * Must be called before an access token with the key's id as `sid` is issued: a revocation then reaches it. False when the key has been
   * revoked or has expired meanwhile, and no token may be issued. `expiresAt` in milliseconds.
   */
  keepForTokens(id: string, expiresAt: number): Promise<boolean>
  /** Notes that the key was used just now. */
  noteUse(id: string): Promise<void>
}

/** The same for callers: what they give, they must have. */
export interface ApiKeysForCallers extends Omit<ApiKeys, 'create'> {
  create(request: ApiKeyRequest, giver: Giver): Promise<NewApiKey>
}

/** What API keys need. */
export interface ApiKeysPorts extends Omit<ChangeApiKeysPorts, 'generateRsaPair'> {
  /** So many RSA pairs are made for one user in a minute. */
  readonly pairsPerMinute: number
  readonly publisher: Pick<PrincipalPublisher, 'waitUntilPublished'>
}

/** API keys over these ports. */
export function createApiKeys(ports: ApiKeysPorts): ApiKeys {
  const { database, publisher } = ports
  const changing = { ...ports, generateRsaPair: createRsaGenerator() }
  const countPair = createPairLimit(ports)
  return {
    refuseImpossible: (request) => refuseImpossible(request, ports.clock.now()),
    create: async (request, giver) => {
      if (giver && request.kind === 'rsa' && request.publicKeyPem === undefined) countPair(giver.userId)
      return whenPublished(publisher, insertApiKey(changing, request, giver))
    },
    list: (page) => listApiKeys(database, page),
    read: (id, owner) => readApiKey(database.drizzle, id, owner),
    revoke: (id, owner) => whenPublished(publisher, revokeApiKey(ports, id, owner)),
    material: (id) => readMaterial(ports, id),
    authenticateClient: async (id, secret) => {
      const material = await readMaterial(ports, id)
      return hasSecret(material, secret) ? material : undefined
    },
    keepForTokens: (id, expiresAt) => keepForTokens(ports, id, expiresAt),
    noteUse: (id) => noteUse(ports, id),
  }
}
