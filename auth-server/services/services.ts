/** The operations on services. Each change is published when its promise resolves. */
import { createNoteUse } from '../../shared/platform/database/note-use.ts'
import type { Page, PageRequest } from '../../shared/platform/pagination.ts'
import { whenPublished } from '../principals/principal-publisher.ts'
import { services } from '../store/access-tables.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import { deleteService, insertService, rotateService } from './change-services.ts'
import type { NewService, Service, ServiceRequest } from './service.ts'
import { listServices, type OfResourceServer, readService } from './service-rows.ts'
import { createReadService, type KnownService, type ProvenService, provenBy, renewedProof } from './service-secrets.ts'
import { issueServiceToken, type ServiceToken, serviceOfToken } from './service-tokens.ts'

/** The operations on services. Every asynchronous method throws Unavailable. */
export interface Services {
  /**
   * Creates a service.
   * @throws ProblemError `service-exists`, `too-many-services`, `invalid-value` for an unknown resource server
   */
  create(request: ServiceRequest): Promise<NewService>
  /** Lists the services, the oldest first. */
  list(page: PageRequest & OfResourceServer): Promise<Page<Service>>
  /** Reads a service. @throws ProblemError `not-found` */
  read(id: string): Promise<Service>
  /**
   * Gives a service a new secret; the former one is accepted for so long, in seconds. @throws ProblemError `not-found`
   */
  rotate(id: string, overlapSeconds: number): Promise<NewService>
  /** Deletes a service: its credential and its tokens end. @throws ProblemError `not-found` */
  delete(id: string): Promise<void>
  /** The service of this id with its secrets, as the database has it now; undefined when there is none. */
  known(id: string): Promise<KnownService | undefined>
  /** The service with this id and secret. An unknown id and a wrong secret take the same time. */
  bySecret(id: string, secret: string): Promise<ProvenService | undefined>
  /** The service that got this token. */
  byToken(token: string): Promise<ProvenService | undefined>
  /** A token for a service that has proved itself by a secret; undefined when a former one ends now. */
  issueToken(proven: ProvenService): ServiceToken | undefined
  /** The proof of a service as its secrets are now; undefined when it has ended. */
  renewProof(proven: ProvenService): Promise<ProvenService | undefined>
  /** Stores that the service was used now. */
  noteUse(id: string): Promise<void>
}

/** Creates the operations on services over these systems. */
export function createServices(
  { accessTokenTtlSeconds: ttlSeconds }: { readonly accessTokenTtlSeconds: number },
  systems: AuthSystems,
): Services {
  const { database, clock, publisher } = systems
  const known = createReadService(systems)
  return {
    create: (request) => whenPublished(publisher, insertService(systems, request)),
    list: (page) => listServices(database.drizzle, page),
    read: (id) => readService(database.drizzle, id),
    rotate: (id, overlapSeconds) => whenPublished(publisher, rotateService(systems, id, overlapSeconds)),
    delete: (id) => whenPublished(publisher, deleteService(systems, id)),
    known,
    bySecret: async (id, secret) => provenBy(await known(id), secret),
    byToken: (token) => serviceOfToken(token, { readService: known, clock }),
    issueToken: (proven) => issueServiceToken(proven, { clock, ttlSeconds }),
    renewProof: async (proven) => renewedProof(proven, await known(proven.service.id), clock.now()),
    noteUse: createNoteUse(systems, { table: services, id: services.id, lastUsedAt: services.lastUsedAt }),
  }
}
