/** The operations on API keys. Each change is published when its promise resolves. */
import { createNoteUse } from '../../shared/platform/database/note-use.ts'
import type { Page, PageRequest } from '../../shared/platform/pagination.ts'
import type { StoredSigningKey } from '../../shared/protocol/authentication/signed-request/signing-key.ts'
import { readCatalogue } from '../principals/catalogue.ts'
import { whenPublished } from '../principals/principal-publisher.ts'
import { apiKeys } from '../store/schema.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import type { Grantor } from '../users/granting-rights.ts'
import { type ApiKey, type ApiKeyRequest, type ApiKeyRotation, type NewApiKey, refuseImpossible } from './api-key.ts'
import { countExpiringSoon, isApiKeyId, listApiKeys, type OfOwner, readApiKey } from './api-key-rows.ts'
import { confirmApiKey, insertApiKey, revokeApiKey } from './change-api-keys.ts'
import { createReadMaterial } from './key-material.ts'
import { createKeepForTokens, type KeepForTokens } from './key-use.ts'
import { createPairLimit } from './pair-limit.ts'
import { rotateApiKey } from './rotate-api-key.ts'
import { createRsaGenerator } from './rsa-keys.ts'

/** The operations on API keys. Every asynchronous method throws Unavailable. */
export interface ApiKeys {
  /** Refuses values that a key cannot have, as `create` does. @throws ProblemError `invalid-value` */
  refuseImpossible(request: ApiKeyRequest): Promise<void>
  /**
   * Creates a key. `grantor` is its owner or has the rights of the key. Without `grantor` the server itself creates it.
   * @throws ProblemError `invalid-value`, `not-found` for an unknown owner, `too-many-api-keys`, `missing-right`,
   *   `too-many-key-pairs`
   */
  create(request: ApiKeyRequest, grantor?: Grantor): Promise<NewApiKey>
  /** Lists the keys that are not revoked, the oldest first. */
  list(page: PageRequest & OfOwner): Promise<Page<ApiKey>>
  /** Reads a key that is not revoked. @throws ProblemError `not-found` */
  read(id: string, owner: OfOwner): Promise<ApiKey>
  /**
   * Gives a key of this owner a new secret or key pair; the former one is accepted for a while. Without `grantor` the
   * server itself does it.
   * @throws ProblemError `not-found`, `invalid-value`, `missing-right`, `too-many-key-pairs`
   */
  rotate(id: string, rotation: ApiKeyRotation, by: { owner: OfOwner; grantor?: Grantor }): Promise<NewApiKey>
  /**
   * Confirms a key that was made without a second factor, for a grantor who has proved one.
   * @throws ProblemError `not-found`, `missing-right`
   */
  confirm(id: string, by: { owner: OfOwner; grantor: Grantor }): Promise<ApiKey>
  /** Revokes a key and the tokens made with it. @throws ProblemError `not-found` */
  revoke(id: string, owner: OfOwner): Promise<void>
  /** The key material for verification; undefined when the key does not exist, is revoked or has expired. */
  material(id: string): Promise<StoredSigningKey | undefined>
  /**
   * Call this before you issue an access token with the key's id as `sid`, so that a revocation of the key reaches the
   * token. False when the key was revoked or has expired in the meantime: issue no token. `expiresAt` in milliseconds.
   */
  readonly keepForTokens: KeepForTokens
  /** Counts the keys that expire within 14 days and were not revoked. */
  countExpiringSoon(): Promise<number>
  /** Stores that the key was used now. */
  noteUse(id: string): Promise<void>
}

/** The same for callers, who can grant only rights that they have. */
export interface ApiKeysForCallers extends Omit<ApiKeys, 'create'> {
  create(request: ApiKeyRequest, grantor: Grantor): Promise<NewApiKey>
}

/** The setting of API keys. */
export interface ApiKeysSettings {
  /** How many RSA pairs are made for one user in a minute at most. */
  readonly rsaPairsPerMinute: number
}

/** Creates the operations on API keys over these systems. */
export function createApiKeys({ rsaPairsPerMinute }: ApiKeysSettings, systems: AuthSystems): ApiKeys {
  const { database, clock, publisher } = systems
  const source = database.drizzle
  const changing = { ...systems, generateRsaPair: createRsaGenerator() }
  const countPair = createPairLimit({ clock, pairsPerMinute: rsaPairsPerMinute })
  const noteUse = createNoteUse(systems, { table: apiKeys, id: apiKeys.id, lastUsedAt: apiKeys.lastUsedAt })
  return {
    refuseImpossible: async (request) => refuseImpossible(await readCatalogue(database), request, clock.now()),
    create: async (request, grantor) => {
      if (grantor && request.kind === 'rsa' && request.publicKeyPem === undefined) countPair(grantor.userId)
      return whenPublished(publisher, insertApiKey(changing, request, grantor))
    },
    list: (page) => listApiKeys(source, page),
    read: (id, owner) => readApiKey(source, id, owner),
    rotate: async (id, rotation, { owner, grantor }) => {
      if (grantor && rotation.publicKeyPem === undefined && (await readApiKey(source, id, owner)).kind === 'rsa') {
        countPair(grantor.userId)
      }
      return whenPublished(publisher, rotateApiKey(changing, { id, owner, grantor }, rotation))
    },
    confirm: (id, by) => whenPublished(publisher, confirmApiKey(systems, id, by)),
    revoke: (id, owner) => whenPublished(publisher, revokeApiKey(systems, id, owner)),
    material: createReadMaterial(systems),
    keepForTokens: createKeepForTokens(systems),
    countExpiringSoon: () => countExpiringSoon(source, clock.now()),
    noteUse: async (id) => {
      if (isApiKeyId(id)) await noteUse(id)
    },
  }
}
