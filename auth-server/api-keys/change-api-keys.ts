import { and, eq, gt, isNull, or } from 'drizzle-orm'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { differenceOf } from '../../shared/protocol/entry-changes.ts'
import { readCatalogue } from '../principals/catalogue.ts'
import { type Changed, changePrincipal } from '../principals/principal-change.ts'
import { apiKeys } from '../store/schema.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import { type Grantor, requireMayMakeKey, rightsOfNewKey } from '../users/granting-rights.ts'
import { userRow } from '../users/user-rows.ts'
import {
  type ApiKey,
  type ApiKeyRequest,
  auditedKeyOf,
  maxLiveKeys,
  type NewApiKey,
  refuseImpossible,
} from './api-key.ts'
import { noFormer, noSuchApiKey, type OfOwner, readApiKey } from './api-key-rows.ts'
import { apiKeySecretData } from './key-material.ts'
import { type RsaPair, spkiPemOf } from './rsa-keys.ts'

const secretBytes = 32

/** What new material of keys is made with. */
export interface KeyMaking extends AuthSystems {
  readonly generateRsaPair: () => Promise<RsaPair>
}

/**
 * Stores a new key. It gets no right that `grantor` lacks (`rightsOfNewKey`).
 * @throws ProblemError `invalid-value`, `not-found` for an unknown owner, `too-many-api-keys`, `missing-right`;
 *   Unavailable
 */
export async function insertApiKey(
  systems: KeyMaking,
  request: ApiKeyRequest,
  grantor?: Grantor,
): Promise<Changed<NewApiKey>> {
  const { database, clock, ids } = systems
  refuseImpossible(await readCatalogue(database), request, clock.now())
  const id = ids.uuid()
  const { stored, shown } = await makeMaterial(systems, request, id)
  const row = {
    id,
    kind: request.kind,
    name: request.name ?? null,
    requireBodyHash: request.requireBodyHash ?? true,
    confirmed: request.isConfirmed ?? grantor === undefined,
    createdAt: new Date(clock.now()),
    expiresAt: request.expiresAt === undefined ? null : new Date(request.expiresAt),
    ...stored,
  }
  return changePrincipal(database, request.username, async (transaction, { userId, usernameFolded }) => {
    const owner = await userRow(transaction, userId)
    const rights = await rightsOfNewKey(transaction, grantor, { asked: request.rights, owner })
    await refuseTooMany(transaction, userId, row.createdAt)
    await transaction.insert(apiKeys).values({ ...row, rights, userId, usernameFolded })
    const key = await readApiKey(transaction, id, request)
    const verify = (source: Drizzle) => requireMayMakeKey(source, grantor, { rights, owner })
    const changes = differenceOf({}, { id, ...auditedKeyOf(key) })
    const entries = [{ action: 'api-key.created', target: owner.username, changes }]
    return { result: { key, ...shown }, change: { verify }, entries }
  })
}

/** New material: as it is stored, and as its owner sees it once. */
export interface Material {
  readonly stored: { readonly secretSealed?: string; readonly publicKeyPem?: string }
  readonly shown: Pick<NewApiKey, 'secret' | 'privateKeyPem'>
}

/** Makes new material of the key with this id, as the request wants it. */
export async function makeMaterial(
  systems: KeyMaking,
  request: Pick<ApiKeyRequest, 'kind' | 'publicKeyPem'>,
  id: string,
): Promise<Material> {
  if (request.kind === 'hmac') {
    const secret = systems.ids.secret(secretBytes)
    return { stored: { secretSealed: systems.sealing.seal(secret, apiKeySecretData(id)) }, shown: { secret } }
  }
  if (request.publicKeyPem !== undefined) {
    return { stored: { publicKeyPem: spkiPemOf(request.publicKeyPem) }, shown: {} }
  }
  const { publicKeyPem, privateKeyPem } = await systems.generateRsaPair()
  return { stored: { publicKeyPem }, shown: { privateKeyPem } }
}

/** Free of races, because every change of a user's keys first locks the row of the principal. */
async function refuseTooMany(transaction: Drizzle, userId: string, now: Date): Promise<void> {
  const valid = and(
    eq(apiKeys.userId, userId),
    isNull(apiKeys.revokedAt),
    or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, now)),
  )
  if ((await transaction.$count(apiKeys, valid)) < maxLiveKeys) return
  throw new ProblemError('too-many-api-keys', `A user may have ${maxLiveKeys} API keys at a time. Revoke one first.`)
}

/**
 * Confirms a key that was made without a second factor. What it had before a rotation without one stays refused.
 * `grantor` must be allowed to make such a key, and has proved a factor.
 * @throws ProblemError `not-found`, `missing-right`; Unavailable
 */
export async function confirmApiKey(
  systems: AuthSystems,
  id: string,
  { owner, grantor }: { readonly owner: OfOwner; readonly grantor: Grantor },
): Promise<Changed<ApiKey>> {
  const { database } = systems
  const { username, rights } = await readApiKey(database.drizzle, id, owner)
  return changePrincipal(database, username, async (transaction, { userId }) => {
    const holder = await userRow(transaction, userId)
    const { isSuspended } = await readApiKey(transaction, id, owner)
    const former = isSuspended ? noFormer : {}
    await transaction
      .update(apiKeys)
      .set({ confirmed: true, ...former })
      .where(eq(apiKeys.id, id))
    const key = await readApiKey(transaction, id, owner)
    const verify = (source: Drizzle) => requireMayMakeKey(source, grantor, { rights, owner: holder })
    return { result: key, change: { verify } }
  })
}

/** Revokes a key and the tokens made with it. @throws ProblemError `not-found`; Unavailable */
export async function revokeApiKey(systems: AuthSystems, id: string, owner: OfOwner): Promise<Changed<undefined>> {
  const { database, clock } = systems
  const key = await readApiKey(database.drizzle, id, owner)
  return changePrincipal(database, key.username, async (transaction) => {
    const revoked = await transaction
      .update(apiKeys)
      .set({ revokedAt: new Date(clock.now()) })
      .where(and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt)))
      .returning({ id: apiKeys.id })
    // Another request revoked the key. Its change must be published too before this request is answered.
    if (revoked.length === 0) return { result: undefined }
    return {
      result: undefined,
      change: {},
      differences: differenceOf({ username: key.username, ...auditedKeyOf(key) }, {}),
    }
  }).catch((error: unknown) => {
    throw error instanceof ProblemError && error.code === 'not-found' ? noSuchApiKey() : error
  })
}
