import { eq } from 'drizzle-orm'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { violates } from '../../shared/platform/database/database.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { clockToleranceSeconds } from '../../shared/protocol/clock-tolerance.ts'
import { differenceOf } from '../../shared/protocol/entry-changes.ts'
import { type CatalogueBefore, changeCatalogue } from '../access/change-catalogue.ts'
import { spkiPemOf } from '../api-keys/rsa-keys.ts'
import type { Changed } from '../principals/principal-change.ts'
import { resourceServers } from '../store/access-tables.ts'
import { clients, endedClients } from '../store/client-tables.ts'
import { formerAfter } from '../store/overlapping-secrets.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import { type Grantor, requireMayGrant } from '../users/granting-rights.ts'
import { distinct, refuseProblems } from '../users/user.ts'
import {
  auditedClientOf,
  type Client,
  type ClientRequest,
  type ClientValues,
  clientProblems,
  maxClients,
  type NewClient,
} from './client.ts'
import { clientRow, toClient } from './client-rows.ts'
import { clientSecretData } from './client-secrets.ts'

const secretBytes = 32

/**
 * Stores a new client. @throws ProblemError `invalid-value`, `client-exists` for a name that is taken,
 * `too-many-clients`, `missing-right` when its tokens may have a right that `grantor` lacks; Unavailable
 */
export async function insertClient(
  { database, clock, ids, sealing }: AuthSystems,
  request: ClientRequest,
  grantor: Grantor,
): Promise<Changed<NewClient>> {
  const id = ids.uuid()
  const hasSecret = request.kind === 'confidential' && request.publicKeyPem === null
  const secret = hasSecret ? ids.secret(secretBytes) : undefined
  return changeClients(database, async (transaction, { catalogue }) => {
    const verify = await judge(transaction, catalogue, { client: request, grantor })
    if ((await transaction.$count(clients)) >= maxClients)
      throw new ProblemError('too-many-clients', `There may be ${maxClients} clients. Delete one first.`)
    const now = new Date(clock.now())
    const secretSealed = secret === undefined ? null : sealing.seal(secret, clientSecretData(id))
    const row = { id, kind: request.kind, ...valuesOf(request), secretSealed, createdAt: now, updatedAt: now }
    const [stored] = await transaction.insert(clients).values(row).returning()
    if (!stored) throw new TypeError('a row that was inserted is returned')
    const client = toClient(stored)
    const entries = [{ action: 'client.created', target: id, changes: differenceOf({}, auditedClientOf(client)) }]
    return { result: { client, secret }, isChanged: true, entries, verify }
  })
}

/** Replaces the values that the patch has. @throws ProblemError as `insertClient`, `not-found`; Unavailable */
export async function patchClient(
  { database, clock }: AuthSystems,
  id: string,
  { patch, grantor }: { readonly patch: Partial<ClientValues>; readonly grantor: Grantor },
): Promise<Changed<Client>> {
  return changeClients(database, async (transaction, { catalogue }) => {
    const row = await clientRow(transaction, id)
    const before = toClient(row)
    const after = { ...before, ...patch }
    const verify = await judge(transaction, catalogue, { client: after, grantor })
    // Who proves itself by a key has no secret, and the other way round.
    if ((after.publicKeyPem === null) !== (before.publicKeyPem === null)) refuseProblems([otherMaterial])
    const [stored] = await transaction
      .update(clients)
      .set({ ...valuesOf(after), updatedAt: new Date(clock.now()) })
      .where(eq(clients.id, id))
      .returning()
    if (!stored) throw new TypeError('the row is locked by that of the catalogue')
    const client = toClient(stored)
    const differences = differenceOf(auditedClientOf(before), auditedClientOf(client))
    return { result: client, isChanged: true, differences, verify }
  })
}

const otherMaterial = {
  pointer: '/publicKeyPem',
  code: 'fixed',
  message: 'a client with a secret does not get a key, nor the other way round: make another client',
}

/**
 * Gives a client a new secret. The former one is accepted too, until the overlap ends; with an overlap of 0 it is
 * refused at once. @throws ProblemError `not-found`, `client-without-secret`, `missing-right`; Unavailable
 */
export async function rotateClient(
  { database, clock, ids, sealing }: AuthSystems,
  id: string,
  { overlapSeconds, grantor }: { readonly overlapSeconds: number; readonly grantor: Grantor },
): Promise<Changed<NewClient>> {
  const secret = ids.secret(secretBytes)
  return changeClients(database, async (transaction, { catalogue }) => {
    const row = await clientRow(transaction, id)
    if (row.secretSealed === null)
      throw new ProblemError('client-without-secret', 'This client has no secret: it is public, or has a key.')
    const verify = await judge(transaction, catalogue, { client: toClient(row), grantor })
    const former = formerAfter(row.secretSealed, { overlapSeconds, now: clock.now() })
    const [stored] = await transaction
      .update(clients)
      .set({ ...former, secretSealed: sealing.seal(secret, clientSecretData(id)) })
      .where(eq(clients.id, id))
      .returning()
    if (!stored) throw new TypeError('the row is locked by that of the catalogue')
    return { result: { client: toClient(stored), secret }, isChanged: true, verify }
  })
}

/**
 * Deletes a client. Its refresh tokens and its secret are refused at once; its access tokens where the catalogue
 * arrives. @throws ProblemError `not-found`; Unavailable
 */
export async function deleteClient(
  { database, clock }: AuthSystems,
  id: string,
  { accessTokenTtlSeconds }: { readonly accessTokenTtlSeconds: number },
): Promise<Changed<undefined>> {
  return changeClients(database, async (transaction) => {
    const before = toClient(await clientRow(transaction, id))
    await transaction.delete(clients).where(eq(clients.id, id))
    const expiresAt = new Date(clock.now() + (accessTokenTtlSeconds + clockToleranceSeconds) * 1000)
    await transaction.insert(endedClients).values({ id, expiresAt })
    return { result: undefined, isChanged: true, differences: differenceOf(auditedClientOf(before), {}) }
  })
}

interface Judged {
  readonly client: ClientRequest
  readonly grantor: Grantor
}

/**
 * Refuses values that are wrong by themselves. Who makes a client, or decides where its codes go or who knows its
 * secret, could use each right of its tokens: so the result refuses, in `verify`, a grantor who lacks one.
 */
async function judge(
  transaction: Drizzle,
  catalogue: CatalogueBefore['catalogue'],
  { client, grantor }: Judged,
): Promise<(source: Drizzle) => Promise<void>> {
  const all = catalogue.rights.map(({ name }) => name)
  const servers = await transaction.select({ id: resourceServers.id }).from(resourceServers)
  const known = { rights: new Set(all), resourceServers: new Set(servers.map(({ id }) => id)) }
  refuseProblems(clientProblems(client, known))
  return (source) => requireMayGrant(source, grantor, { rights: client.rights ?? all, catalogue })
}

const valuesOf = (client: ClientValues) => ({
  name: client.name,
  firstParty: client.firstParty,
  redirectUris: [...client.redirectUris],
  postLogoutRedirectUris: [...client.postLogoutRedirectUris],
  rights: client.rights && distinct(client.rights),
  resourceServers: distinct(client.resourceServers),
  needsRight: client.needsRight,
  requirePkce: client.requirePkce,
  mode: client.mode,
  publicKeyPem: client.publicKeyPem === null ? null : spkiPemOf(client.publicKeyPem),
})

/** @throws ProblemError `client-exists` */
async function changeClients<Result>(
  database: AuthSystems['database'],
  work: Parameters<typeof changeCatalogue<Result>>[1],
): Promise<Changed<Result>> {
  try {
    return await changeCatalogue(database, work)
  } catch (error) {
    if (violates(error, 'clients_name')) throw new ProblemError('client-exists', 'There is a client of this name.')
    throw error
  }
}
