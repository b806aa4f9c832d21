import { eq } from 'drizzle-orm'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { isId } from '../../shared/platform/ids.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { differenceOf } from '../../shared/protocol/entry-changes.ts'
import { changeCatalogue } from '../access/change-catalogue.ts'
import type { Changed } from '../principals/principal-change.ts'
import { resourceServers, services } from '../store/access-tables.ts'
import { formerAfter } from '../store/overlapping-secrets.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import { refuseProblems } from '../users/user.ts'
import { maxServices, type NewService, type ServiceRequest } from './service.ts'
import { noSuchService, toService } from './service-rows.ts'
import { serviceSecretData } from './service-secrets.ts'

const secretBytes = 32

/**
 * Stores a new service. @throws ProblemError `service-exists` for a name that is taken, `too-many-services`,
 * `invalid-value` for an unknown resource server; Unavailable
 */
export async function insertService(
  { database, clock, ids, sealing }: AuthSystems,
  { name, resourceServer }: ServiceRequest,
): Promise<Changed<NewService>> {
  const id = ids.uuid()
  const secret = ids.secret(secretBytes)
  const secretSealed = sealing.seal(secret, serviceSecretData(id))
  return changeCatalogue(database, async (transaction) => {
    await requireResourceServer(transaction, resourceServer)
    await refuseCollision(transaction, name)
    const row = { id, name, resourceServer, secretSealed, createdAt: new Date(clock.now()) }
    const [stored] = await transaction.insert(services).values(row).returning()
    if (!stored) throw new TypeError('a row that was inserted is returned')
    const entries = [{ action: 'service.created', target: id, changes: differenceOf({}, { name, resourceServer }) }]
    return { result: { service: toService(stored), secret }, isChanged: true, entries }
  })
}

async function requireResourceServer(transaction: Drizzle, id: string): Promise<void> {
  if ((await transaction.$count(resourceServers, eq(resourceServers.id, id))) > 0) return
  const message = 'there is no such resource server'
  refuseProblems([{ pointer: '/resourceServer', code: 'unknown-resource-server', message }])
}

/** Free of races, because every change of services first locks the row of the catalogue. */
async function refuseCollision(transaction: Drizzle, name: string): Promise<void> {
  if ((await transaction.$count(services, eq(services.name, name))) > 0)
    throw new ProblemError('service-exists', 'There is a service of this name already.')
  if ((await transaction.$count(services)) >= maxServices)
    throw new ProblemError('too-many-services', `There may be ${maxServices} services. Delete one first.`)
}

/**
 * Gives a service a new secret. The former one is accepted too, until the overlap ends; with an overlap of 0 it is
 * refused at once. A second rotation ends the overlap of the first. @throws ProblemError `not-found`; Unavailable
 */
export async function rotateService(
  { database, clock, ids, sealing }: AuthSystems,
  id: string,
  overlapSeconds: number,
): Promise<Changed<NewService>> {
  if (!isId(id)) throw noSuchService()
  const secret = ids.secret(secretBytes)
  const secretSealed = sealing.seal(secret, serviceSecretData(id))
  return changeCatalogue(database, async (transaction) => {
    const ofService = eq(services.id, id)
    const [row] = await transaction.select().from(services).where(ofService)
    if (!row) throw noSuchService()
    const former = formerAfter(row.secretSealed, { overlapSeconds, now: clock.now() })
    const values = { ...former, secretSealed }
    const [stored] = await transaction.update(services).set(values).where(ofService).returning()
    if (!stored) throw noSuchService()
    return { result: { service: toService(stored), secret }, isChanged: true }
  })
}

/** Deletes a service: its credential and its tokens end. @throws ProblemError `not-found`; Unavailable */
export async function deleteService({ database }: AuthSystems, id: string): Promise<Changed<undefined>> {
  if (!isId(id)) throw noSuchService()
  return changeCatalogue(database, async (transaction) => {
    const [deleted] = await transaction.delete(services).where(eq(services.id, id)).returning()
    if (!deleted) throw noSuchService()
    const { name, resourceServer } = deleted
    return { result: undefined, isChanged: true, differences: differenceOf({ name, resourceServer }, {}) }
  })
}
