/** The operations on clients. Each change is published when its promise resolves. */
import { createNoteUse } from '../../shared/platform/database/note-use.ts'
import type { PageRequest } from '../../shared/platform/pagination.ts'
import { whenPublished } from '../principals/principal-publisher.ts'
import { clients } from '../store/client-tables.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import type { Grantor } from '../users/granting-rights.ts'
import { deleteClient, insertClient, patchClient, rotateClient } from './change-clients.ts'
import type { ClientRequest, ClientValues } from './client.ts'
import { clientRow, listClients, toClient } from './client-rows.ts'
import { createReadClient } from './client-secrets.ts'

/** The operations on clients. */
export type Clients = ReturnType<typeof createClients>

/** Creates the operations on clients over these systems. All throw Unavailable. */
export function createClients(settings: { readonly accessTokenTtlSeconds: number }, systems: AuthSystems) {
  const { database, publisher } = systems
  return {
    create: (request: ClientRequest, grantor: Grantor) =>
      whenPublished(publisher, insertClient(systems, request, grantor)),
    list: (page: PageRequest) => listClients(database.drizzle, page),
    /** @throws ProblemError `not-found` */
    read: async (id: string) => toClient(await clientRow(database.drizzle, id)),
    patch: (id: string, change: { patch: Partial<ClientValues>; grantor: Grantor }) =>
      whenPublished(publisher, patchClient(systems, id, change)),
    rotate: (id: string, change: { overlapSeconds: number; grantor: Grantor }) =>
      whenPublished(publisher, rotateClient(systems, id, change)),
    delete: (id: string) => whenPublished(publisher, deleteClient(systems, id, settings)),
    known: createReadClient(systems),
    noteUse: createNoteUse(systems, { table: clients, id: clients.id, lastUsedAt: clients.lastUsedAt }),
  }
}
