/**
 * The catalogue: which rights there are, and which of them each role gives (docs/contract/accounts.md#catalogue). It is
 * one record beside the principal records, under a name that no user can have. Its versions are principal versions, so
 * the change feed announces it as it announces a change of a user: however many users have a role, a change of the role
 * is one record.
 */

import * as z from 'zod'
import { readStored } from '../../platform/json.ts'
import type { StoredPrincipal } from './record.ts'

/** The name of the catalogue among the principals. */
export const catalogueName = ':catalogue'

const since = z.number().int()

/** The form of the catalogue in the cache and on the wire. */
export const catalogueSchema = z.object({
  /** The layout. A reader treats a catalogue with an unknown layout as absent. */
  schema: z.literal(1),
  /** The number of the latest change of it. */
  version: z.number().int(),
  /** Every right, in the order of records and lists. */
  rights: z.array(
    z.object({
      name: z.string(),
      /** The id of the resource server that checks it. */
      resourceServer: z.string(),
      /** True for a right that only reads. */
      readsOnly: z.boolean(),
      /**
       * The version at which it was made. A record that is not newer has not this right, but one of the same name that
       * was withdrawn.
       */
      since,
    }),
  ),
  /** Every role, with names of rights. */
  roles: z.array(z.object({ name: z.string(), rights: z.array(z.string()), since })),
  /**
   * Clients that were deleted: their access tokens are refused. `until`: when the last of these has expired, in seconds
   * since the epoch. Servers of release 0.3.0 do not write it.
   */
  endedClients: z.array(z.object({ id: z.string(), until: z.number().int() })).optional(),
  /** Ids of clients whose commands wait for approval. Servers of release 0.3.0 do not write it. */
  proposingClients: z.array(z.string()).optional(),
})

/** A catalogue with the current layout. */
export type Catalogue = z.infer<typeof catalogueSchema>

/** Reads a catalogue from its JSON text; undefined when this version of the software does not know its form. */
export const parseCatalogue = (text: string): Catalogue | undefined => readStored(catalogueSchema, text)

/** What a user has been given, and the version of the user's record. */
export type Grants = Pick<StoredPrincipal, 'roles' | 'directRights' | 'version'>

/** Grants that are about to be stored: they are newer than every role and right. */
export const newGrants = (roles: readonly string[], directRights: readonly string[]): Grants => ({
  roles: [...roles],
  directRights: [...directRights],
  version: Number.POSITIVE_INFINITY,
})

/**
 * Effective rights: those of the roles and the direct ones, each once, in the order of the catalogue. Roles and rights
 * that do not exist, or were made again later than the grant, give nothing.
 */
export function effectiveRights(catalogue: Catalogue, { roles, directRights, version }: Grants): string[] {
  const given = catalogue.roles.filter((role) => roles.includes(role.name) && role.since < version)
  const ofRoles = new Set(given.flatMap((role) => role.rights))
  const isDirect = (right: Catalogue['rights'][number]) => right.since < version && directRights.includes(right.name)
  return catalogue.rights.filter((right) => ofRoles.has(right.name) || isDirect(right)).map(({ name }) => name)
}
