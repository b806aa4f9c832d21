/** Resource servers: the services whose rights are granted here. Each has an audience, and rights of its own. */
import { asc, eq, type SQL, sql } from 'drizzle-orm'
import { type Database, type Drizzle, violates } from '../../shared/platform/database/database.ts'
import { OperatorError } from '../../shared/platform/operator-error.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { differenceOf } from '../../shared/protocol/entry-changes.ts'
import { whenPublished } from '../principals/principal-publisher.ts'
import { builtInRights, ownResourceServer } from '../principals/rights.ts'
import { accessRights, resourceServers } from '../store/access-tables.ts'
import { clients } from '../store/client-tables.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import type { Grantor } from '../users/granting-rights.ts'
import { refuseProblems } from '../users/user.ts'
import { type CatalogueBefore, changeCatalogue } from './change-catalogue.ts'
import { withdrawRights } from './withdraw-rights.ts'

/** A right of a resource server. */
export interface ServerRight {
  readonly name: string
  readonly description: string
  readonly readsOnly: boolean
}

/** A resource server. Times in milliseconds. */
export interface ResourceServer {
  readonly id: string
  readonly audience: string
  readonly name: string
  readonly rights: readonly ServerRight[]
  readonly createdAt: number
  readonly updatedAt: number
}

/** A new resource server, checked by the form of its values alone. */
export type NewResourceServer = Pick<ResourceServer, 'id' | 'audience' | 'name' | 'rights'>

/** New values. Members that are left out stay as they are. Rights that are not in `rights` are withdrawn. */
export interface ResourceServerPatch {
  readonly audience?: string | undefined
  readonly name?: string | undefined
  readonly rights?: readonly ServerRight[] | undefined
  readonly requires?: ResourceServerCheck | undefined
}

/** Judges what is there now, in the transaction. @throws ProblemError to undo the change */
export type ResourceServerCheck = (now: ResourceServer) => void

/** The operations on resource servers. */
export type ResourceServers = ReturnType<typeof createResourceServers>

/** How many resource servers there can be. */
export const maxResourceServers = 200
/** How many rights there can be in all. */
export const maxRights = 2_000

/** Creates the operations. Without `grantor` the server itself acts. All throw Unavailable. */
export function createResourceServers(systems: AuthSystems) {
  const { database, publisher } = systems
  return {
    list: () => listServers(database.drizzle),
    /** @throws ProblemError `not-found` */
    read: (id: string) => readServer(database.drizzle, id),
    create: (server: NewResourceServer) => whenPublished(publisher, createServer(systems, server)),
    patch: (id: string, patch: ResourceServerPatch, grantor?: Grantor) =>
      whenPublished(publisher, patchServer(systems, id, { patch, grantor })),
    declareOwn: (rights: readonly ServerRight[]) => whenPublished(publisher, declareOwnRights(systems, rights)),
    delete: (id: string, grantor?: Grantor, requires?: ResourceServerCheck) =>
      whenPublished(publisher, deleteServer(systems, id, { grantor, requires })),
  }
}

const idForm = /^[a-z0-9][a-z0-9-]{0,62}$/

const noSuchServer = () => new ProblemError('not-found', 'There is no such resource server.')
const reserved = (detail: string) => new ProblemError('reserved-resource-server', detail)

async function listServers(source: Drizzle, where?: SQL): Promise<ResourceServer[]> {
  const servers = await source.select().from(resourceServers).where(where).orderBy(asc(resourceServers.id))
  const rights = await source.select().from(accessRights).orderBy(asc(accessRights.position))
  return servers.map((server) => ({
    id: server.id,
    audience: server.audience,
    name: server.name,
    rights: rights.filter(({ resourceServer }) => resourceServer === server.id).map(toRight),
    createdAt: server.createdAt.getTime(),
    updatedAt: server.updatedAt.getTime(),
  }))
}

const toRight = ({ name, description, readsOnly }: ServerRight): ServerRight => ({ name, description, readsOnly })

async function readServer(source: Drizzle, id: string): Promise<ResourceServer> {
  if (!idForm.test(id)) throw noSuchServer()
  const [found] = await listServers(source, eq(resourceServers.id, id))
  if (!found) throw noSuchServer()
  return found
}

const taken = () => new ProblemError('resource-server-exists', 'There is a resource server with this id or audience.')

/**
 * @throws ProblemError `resource-server-exists` for a taken id or audience, `right-exists`,
 *   `too-many-resource-servers`, `too-many-rights`, `invalid-value`
 */
const createServer = (systems: AuthSystems, { id, audience, name, rights }: NewResourceServer) =>
  changeServers(systems, audience, async (transaction, before) => {
    if ((await transaction.$count(resourceServers)) >= maxResourceServers) {
      const detail = `There can be ${maxResourceServers} resource servers. Delete one first.`
      throw new ProblemError('too-many-resource-servers', detail)
    }
    const now = new Date(systems.clock.now())
    await transaction.insert(resourceServers).values({ id, audience, name, createdAt: now, updatedAt: now })
    await addRights(transaction, before, { id, rights })
    const differences = differenceOf({}, auditedOf({ audience, name, rights }))
    return { result: await readServer(transaction, id), isChanged: true, differences }
  })

/** What the audit log tells of a resource server. */
const auditedOf = ({ audience, name, rights }: Pick<NewResourceServer, 'audience' | 'name' | 'rights'>) => ({
  audience,
  name,
  rights: rights.map((right) => right.name),
})

/**
 * @throws ProblemError as `createServer`; `not-found`, `reserved-resource-server`, `missing-right` when `grantor`
 * lacks a right that is withdrawn
 */
const patchServer = (
  systems: AuthSystems,
  id: string,
  { patch, grantor }: { patch: ResourceServerPatch; grantor: Grantor | undefined },
) =>
  changeServers(systems, patch.audience, async (transaction, before) => {
    const now = await readServer(transaction, id)
    patch.requires?.(now)
    const { audience, name, rights } = now
    const after = { audience: patch.audience ?? audience, name: patch.name ?? name, rights: patch.rights ?? rights }
    if (id === ownResourceServer) requireOwnKept(audience, after)
    refuseOtherReading(rights, after.rights)
    const updatedAt = new Date(systems.clock.now())
    // Logins for this audience that began before were for another resource server (`principals/accepted-logins.ts`).
    const createdAt = after.audience === audience ? undefined : updatedAt
    const values = { audience: after.audience, name: after.name, createdAt, updatedAt }
    await transaction.update(resourceServers).set(values).where(eq(resourceServers.id, id))
    for (const { name: right, description } of after.rights)
      await transaction.update(accessRights).set({ description }).where(eq(accessRights.name, right))
    const names = new Set(after.rights.map((right) => right.name))
    const withdrawn = rights.filter((right) => !names.has(right.name)).map((right) => right.name)
    const outcome = await withdrawRights(transaction, before, { names: withdrawn, grantor })
    const isKnown = (right: ServerRight) => rights.some((known) => known.name === right.name)
    await addRights(transaction, before, { id, rights: after.rights.filter((right) => !isKnown(right)) })
    const differences = differenceOf(auditedOf({ audience, name, rights }), auditedOf(after))
    return { result: await readServer(transaction, id), isChanged: true, ...outcome, differences }
  })

/**
 * Adds those of these rights that the pair itself lacks. @throws ProblemError `right-exists` when another resource
 * server has one, `too-many-rights`
 */
const declareOwnRights = (systems: AuthSystems, rights: readonly ServerRight[]) =>
  changeServers(systems, undefined, async (transaction, before) => {
    const { rights: present } = await readServer(transaction, ownResourceServer)
    const missing = rights.filter(({ name }) => !present.some((known) => known.name === name))
    if (missing.length === 0) return { result: undefined, isChanged: false }
    await addRights(transaction, before, { id: ownResourceServer, rights: missing })
    const values = { updatedAt: new Date(systems.clock.now()) }
    await transaction.update(resourceServers).set(values).where(eq(resourceServers.id, ownResourceServer))
    const changes = differenceOf({}, { rights: missing.map(({ name }) => name) })
    const entries = [{ action: 'resource-server.changed', target: ownResourceServer, changes }]
    return { result: undefined, isChanged: true, entries }
  })

/**
 * Deletes it with its rights and services. @throws ProblemError `not-found`, `reserved-resource-server`,
 * `missing-right` when `grantor` lacks one of its rights, and what `requires` throws
 */
const deleteServer = (
  systems: AuthSystems,
  id: string,
  { grantor, requires }: { grantor: Grantor | undefined; requires: ResourceServerCheck | undefined },
) =>
  changeServers(systems, undefined, async (transaction, before) => {
    const now = await readServer(transaction, id)
    requires?.(now)
    const { audience, name: title, rights } = now
    if (id === ownResourceServer) throw reserved('This resource server is the pair of servers itself.')
    const names = rights.map(({ name }) => name)
    const outcome = await withdrawRights(transaction, before, { names, grantor })
    await transaction.delete(resourceServers).where(eq(resourceServers.id, id))
    await transaction.update(clients).set({ resourceServers: sql`array_remove(${clients.resourceServers}, ${id})` })
    const differences = differenceOf(auditedOf({ audience, name: title, rights }), {})
    return { result: undefined, isChanged: true, ...outcome, differences }
  })

/** `audience`: the new one, if there is one. @throws ProblemError `resource-server-exists` */
async function changeServers<Result>(
  { database, publicOrigins }: AuthSystems,
  audience: string | undefined,
  work: Parameters<typeof changeCatalogue<Result>>[1],
) {
  const isOwn = Object.values(publicOrigins).some((origin) => audience === origin || audience === `${origin}/`)
  if (isOwn) throw taken()
  try {
    return await changeCatalogue(database, work)
  } catch (error) {
    if (violates(error, 'resource_servers_pkey') || violates(error, 'resource_servers_audience')) throw taken()
    throw error
  }
}

/** @throws ProblemError `right-exists`, `too-many-rights` */
async function addRights(
  transaction: Drizzle,
  { catalogue, version: since }: CatalogueBefore,
  { id: resourceServer, rights }: Pick<NewResourceServer, 'id' | 'rights'>,
): Promise<void> {
  if (rights.length === 0) return
  const names = rights.map(({ name }) => name)
  const present = catalogue.rights.find(({ name }) => names.includes(name))
  if (present) throw new ProblemError('right-exists', `There is a right ${present.name}.`)
  const ofDeals = resourceServer === ownResourceServer ? undefined : names.find((name) => name.startsWith('deal.'))
  if (ofDeals !== undefined)
    throw new ProblemError(
      'right-exists',
      `Rights that begin with deal. are those of ${ownResourceServer}: ${ofDeals}.`,
    )
  if (catalogue.rights.length + rights.length > maxRights)
    throw new ProblemError('too-many-rights', `There can be ${maxRights} rights in all.`)
  await transaction.insert(accessRights).values(rights.map((right) => ({ ...right, resourceServer, since })))
}

/** @throws ProblemError `reserved-resource-server` */
function requireOwnKept(audience: string, after: Required<Omit<ResourceServerPatch, 'requires'>>): void {
  if (after.audience !== audience) throw reserved('The setting AUDIENCE gives this audience.')
  const kept = new Set(after.rights?.map(({ name }) => name))
  const missing = builtInRights.find((right) => !kept.has(right))
  if (missing !== undefined) throw reserved(`The servers themselves check the right ${missing}, so it must stay.`)
}

/** @throws ProblemError `invalid-value`: users may have the right already */
function refuseOtherReading(before: readonly ServerRight[], after: readonly ServerRight[]): void {
  const known = new Map(before.map(({ name, readsOnly }) => [name, readsOnly]))
  refuseProblems(
    after.flatMap(({ name, readsOnly }, at) =>
      (known.get(name) ?? readsOnly) === readsOnly
        ? []
        : [
            {
              pointer: `/rights/${at}/readsOnly`,
              code: 'fixed',
              message: 'cannot be changed: withdraw the right first',
            },
          ],
    ),
  )
}

/** Stores AUDIENCE as the audience of the pair. @throws OperatorError when another resource server has it */
export async function storeOwnAudience(database: Database, audience: string): Promise<void> {
  const ofOwn = eq(resourceServers.id, ownResourceServer)
  const [own] = await database.drizzle.select().from(resourceServers).where(ofOwn)
  if (own?.audience === audience) return
  try {
    await database.transaction((transaction) => transaction.update(resourceServers).set({ audience }).where(ofOwn))
  } catch (error) {
    if (!violates(error, 'resource_servers_audience')) throw error
    throw new OperatorError(`AUDIENCE: another resource server has the audience ${audience}`)
  }
}
