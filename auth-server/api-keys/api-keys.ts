/** The operations on API keys. Each change is published when its promise resolves. */

import { createBoundedCache } from '../../shared/platform/cache/bounded-cache.ts'
import type { Clock } from '../../shared/platform/clock.ts'
import { createNoteUse } from '../../shared/platform/database/note-use.ts'
import { isId } from '../../shared/platform/ids.ts'
import type { PageRequest } from '../../shared/platform/pagination.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { readCatalogue } from '../principals/catalogue.ts'
import { whenPublished } from '../principals/principal-publisher.ts'
import { apiKeys } from '../store/schema.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import type { Grantor } from '../users/granting-rights.ts'
import { type ApiKeyRequest, type ApiKeyRotation, type NewApiKey, refuseImpossible } from './api-key.ts'
import { countExpiringSoon, listApiKeys, type OfOwner, readApiKey } from './api-key-rows.ts'
import { confirmApiKey, insertApiKey, revokeApiKey } from './change-api-keys.ts'
import { createReadMaterial } from './key-material.ts'
import { createKeepForTokens } from './key-use.ts'
import { rotateApiKey } from './rotate-api-key.ts'
import { createRsaGenerator } from './rsa-keys.ts'

/** The operations on API keys. */
export type ApiKeys = ReturnType<typeof createApiKeys>

/** The same for callers, who can grant only rights that they have. */
export interface ApiKeysForCallers extends Omit<ApiKeys, 'create'> {
  create(request: ApiKeyRequest, grantor: Grantor): Promise<NewApiKey>
}

/**
 * Creates the operations on API keys over these systems. `rsaPairsPerMinute` is for one user.
 * Without `grantor` the server itself acts. Every asynchronous one throws Unavailable.
 */
export function createApiKeys({ rsaPairsPerMinute }: { readonly rsaPairsPerMinute: number }, systems: AuthSystems) {
  const { database, clock, publisher } = systems
  const source = database.drizzle
  const changing = { ...systems, generateRsaPair: createRsaGenerator() }
  const countPair = createPairLimit({ clock, pairsPerMinute: rsaPairsPerMinute })
  const noteUse = createNoteUse(systems, { table: apiKeys, id: apiKeys.id, lastUsedAt: apiKeys.lastUsedAt })
  return {
    /** Refuses values that a key cannot have, as `create` does. @throws ProblemError `invalid-value` */
    refuseImpossible: async (request: ApiKeyRequest) =>
      refuseImpossible(await readCatalogue(database), request, clock.now()),
    /** @throws ProblemError as `insertApiKey`, `too-many-key-pairs` */
    create: async (request: ApiKeyRequest, grantor?: Grantor) => {
      if (grantor && request.kind === 'rsa' && request.publicKeyPem === undefined) countPair(grantor.userId)
      return whenPublished(publisher, insertApiKey(changing, request, grantor))
    },
    list: (page: PageRequest & OfOwner) => listApiKeys(source, page),
    read: (id: string, owner: OfOwner) => readApiKey(source, id, owner),
    /** @throws ProblemError as `rotateApiKey`, `too-many-key-pairs` */
    rotate: async (id: string, rotation: ApiKeyRotation, { owner, grantor }: { owner: OfOwner; grantor?: Grantor }) => {
      if (grantor && rotation.publicKeyPem === undefined && (await readApiKey(source, id, owner)).kind === 'rsa') {
        countPair(grantor.userId)
      }
      return whenPublished(publisher, rotateApiKey(changing, { id, owner, grantor }, rotation))
    },
    confirm: (id: string, by: { owner: OfOwner; grantor: Grantor }) =>
      whenPublished(publisher, confirmApiKey(systems, id, by)),
    revoke: (id: string, owner: OfOwner) => whenPublished(publisher, revokeApiKey(systems, id, owner)),
    material: createReadMaterial(systems),
    keepForTokens: createKeepForTokens(systems),
    countExpiringSoon: () => countExpiringSoon(source, clock.now()),
    noteUse: async (id: string) => {
      if (isId(id)) await noteUse(id)
    },
  }
}

const minuteMs = 60_000

/** How many users are counted at a time. An entry has the id of a user and the times of the last minute. */
const room = { maxEntries: 10_000, maxBytes: 4_000_000 }

/**
 * Counts the new RSA pairs of users, at most `pairsPerMinute` in any minute for each, because a pair costs much CPU
 * time. Counts in this process. The function throws ProblemError `too-many-key-pairs` with `retryAfterSeconds`.
 */
function createPairLimit({ clock, pairsPerMinute }: { clock: Clock; pairsPerMinute: number }) {
  const made = createBoundedCache<readonly number[]>({ ...room, ttlMs: minuteMs, clock })
  return (userId: string): void => {
    const now = clock.monotonic()
    const recent = (made.get(userId) ?? []).filter((at) => at > now - minuteMs)
    const [first = now] = recent
    if (recent.length >= pairsPerMinute) {
      const retryAfterSeconds = Math.max(1, Math.ceil((first + minuteMs - now) / 1000))
      const detail = `At most ${pairsPerMinute} RSA pairs a minute are made for one user.`
      throw new ProblemError('too-many-key-pairs', detail, { retryAfterSeconds })
    }
    made.set(userId, [...recent, now])
  }
}
