/** The operations on services. Each change is published when its promise resolves. */
import { createNoteUse } from '../../shared/platform/database/note-use.ts'
import type { PageRequest } from '../../shared/platform/pagination.ts'
import { whenPublished } from '../principals/principal-publisher.ts'
import { services } from '../store/access-tables.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import { deleteService, insertService, rotateService } from './change-services.ts'
import type { ServiceRequest } from './service.ts'
import { listServices, type OfResourceServer, readService } from './service-rows.ts'
import { createReadService, type ProvenService, provenBy, renewedProof } from './service-secrets.ts'
import { issueServiceToken, serviceOfToken } from './service-tokens.ts'

/** The operations on services. */
export type Services = ReturnType<typeof createServices>

/** Creates the operations on services over these systems. Every asynchronous one throws Unavailable. */
export function createServices(
  { accessTokenTtlSeconds: ttlSeconds }: { readonly accessTokenTtlSeconds: number },
  systems: AuthSystems,
) {
  const { database, clock, publisher } = systems
  const known = createReadService(systems)
  return {
    create: (request: ServiceRequest) => whenPublished(publisher, insertService(systems, request)),
    list: (page: PageRequest & OfResourceServer) => listServices(database.drizzle, page),
    read: (id: string) => readService(database.drizzle, id),
    rotate: (id: string, overlapSeconds: number) =>
      whenPublished(publisher, rotateService(systems, id, overlapSeconds)),
    delete: (id: string) => whenPublished(publisher, deleteService(systems, id)),
    known,
    /** The service with this id and secret. An unknown id and a wrong secret take the same time. */
    bySecret: async (id: string, secret: string) => provenBy(await known(id), secret),
    byToken: (token: string) => serviceOfToken(token, { readService: known, clock }),
    issueToken: (proven: ProvenService) => issueServiceToken(proven, { clock, ttlSeconds }),
    renewProof: async (proven: ProvenService) => renewedProof(proven, await known(proven.service.id), clock.now()),
    noteUse: createNoteUse(systems, { table: services, id: services.id, lastUsedAt: services.lastUsedAt }),
  }
}
