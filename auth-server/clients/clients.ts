/** The operations on clients. Each change is published when its promise resolves. */
import { createNoteUse } from '../../shared/platform/database/note-use.ts'
import type { Page, PageRequest } from '../../shared/platform/pagination.ts'
import { whenPublished } from '../principals/principal-publisher.ts'
import { clients } from '../store/client-tables.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import type { Grantor } from '../users/granting-rights.ts'
import { deleteClient, insertClient, patchClient, rotateClient } from './change-clients.ts'
import type { Client, ClientRequest, ClientValues, NewClient } from './client.ts'
import { clientRow, listClients, toClient } from './client-rows.ts'
import { createReadClient, type ReadClient } from './client-secrets.ts'

/** The operations on clients. All throw Unavailable. */
export interface Clients {
  /**
   * Creates a client.
   * @throws ProblemError `invalid-value`, `client-exists`, `too-many-clients`, `missing-right` when its tokens may have
   *   a right that `grantor` lacks
   */
  create(request: ClientRequest, grantor: Grantor): Promise<NewClient>
  /** Lists the clients, the oldest first. */
  list(page: PageRequest): Promise<Page<Client>>
  /** Reads a client. @throws ProblemError `not-found` */
  read(id: string): Promise<Client>
  /** Replaces the values that the patch has. @throws ProblemError as `create`, `not-found` */
  patch(id: string, change: { patch: Partial<ClientValues>; grantor: Grantor }): Promise<Client>
  /**
   * Gives a client a new secret; the former one is accepted for so long.
   * @throws ProblemError `not-found`, `client-without-secret`, `missing-right`
   */
  rotate(id: string, change: { overlapSeconds: number; grantor: Grantor }): Promise<NewClient>
  /** Deletes a client: what was issued to it ends. @throws ProblemError `not-found` */
  delete(id: string): Promise<void>
  /** The client of this id with its secrets, as the database has it now; undefined when there is none. */
  readonly known: ReadClient
  /** Stores that the client was used now. */
  noteUse(id: string): Promise<void>
}

/** Creates the operations on clients over these systems. */
export function createClients(settings: { readonly accessTokenTtlSeconds: number }, systems: AuthSystems): Clients {
  const { database, publisher } = systems
  return {
    create: (request, grantor) => whenPublished(publisher, insertClient(systems, request, grantor)),
    list: (page) => listClients(database.drizzle, page),
    read: async (id) => toClient(await clientRow(database.drizzle, id)),
    patch: (id, change) => whenPublished(publisher, patchClient(systems, id, change)),
    rotate: (id, change) => whenPublished(publisher, rotateClient(systems, id, change)),
    delete: (id) => whenPublished(publisher, deleteClient(systems, id, settings)),
    known: createReadClient(systems),
    noteUse: createNoteUse(systems, { table: clients, id: clients.id, lastUsedAt: clients.lastUsedAt }),
  }
}
