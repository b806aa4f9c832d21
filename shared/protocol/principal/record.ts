/**
 * The principal record: the facts about a user that decide whether a verified credential is accepted
 * (docs/contract/callers.md#principal-record). Only the auth server writes it. Other servers read it from memory, the
 * cache or the auth server. It is stored with roles and direct rights; the catalogue makes effective rights of them.
 */

import * as z from 'zod'
import { readStored } from '../../platform/json.ts'
import { instanceKey } from './instance-id.ts'

/** The form of the record in the cache and on the wire. */
export const storedPrincipalSchema = z.object({
  /** The layout of the record. A reader treats a record with an unknown layout as absent. */
  schema: z.literal(2),
  /** As created: the name of the actor in events and responses. */
  username: z.string(),
  /** Immutable and never used again: a deleted user and a later one with the same name have two ids. */
  userId: z.string(),
  /** False when disabled or deleted. */
  enabled: z.boolean(),
  /** Names of roles. */
  roles: z.array(z.string()),
  /** Rights that the user has beside those of the roles. */
  directRights: z.array(z.string()),
  /** The credential generation: a credential with another number is refused. */
  generation: z.number().int(),
  /** The login throttle counts failures of the account under this number. Servers of release 0.3.0 do not write it. */
  throttleGeneration: z.number().int().optional(),
  /** The one login that stays valid with its former generation: it changed its own password. */
  keptLogin: z.object({ id: z.string(), generation: z.number().int() }).nullable(),
  /** Ids of revoked logins whose tokens have not all expired yet, and `secondFactorMark`. */
  revokedIds: z.array(z.string()),
  /**
   * The number of the principal's latest change. It grows with every change and never falls, not even when a deleted
   * name is created again.
   */
  version: z.number().int(),
})

/** A record as it is stored. */
export type StoredPrincipal = z.infer<typeof storedPrincipalSchema>

/** A record with effective rights: those of the roles and the direct ones. */
export interface PrincipalRecord extends Omit<StoredPrincipal, 'schema' | 'directRights'> {
  readonly rights: readonly string[]
  /** Ids of clients that were deleted; absent when there are none. */
  readonly endedClients?: readonly string[] | undefined
  /** Ids of clients whose commands wait for approval; absent when there are none. */
  readonly proposingClients?: readonly string[] | undefined
}

/**
 * Among `revokedIds`: the principal needs a second factor. Then they also hold every live login that had none. No id
 * has this form.
 */
export const secondFactorMark = 'second-factor-required'

/** True when the principal needs a second factor. */
export const needsSecondFactor = ({ revokedIds }: PrincipalRecord): boolean => revokedIds.includes(secondFactorMark)

/** A record in one instance. */
export interface InstanceRecord<Stored> {
  readonly instanceId: string
  /** Undefined: there never was one of this name. */
  readonly record: Stored | undefined
}

/** A principal in one instance. */
export type InstancePrincipal = InstanceRecord<StoredPrincipal>

/**
 * The form of a user name: 1 to 64 of `[A-Za-z0-9._@-]`, but neither `.` nor `..`. Those two cannot be a segment of a
 * path, encoded or not (RFC 3986 §5.2.4, WHATWG URL), so `/users/{username}` could not disable, delete or log out such
 * a user.
 */
export const usernamePattern = /^(?!\.{1,2}$)[A-Za-z0-9._@-]{1,64}$/

/** True when `username` has the form of a user name. Ids have that form, too. */
export const isUsername = (username: string): boolean => usernamePattern.test(username)

/** Folds ASCII case: records are stored and looked up under the folded name. */
export const foldUsername = (username: string): string =>
  hasCapitals.test(username) ? username.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : username

const hasCapitals = /[A-Z]/

/**
 * The principal of credentials without a user name (docs/contract/callers.md#key-signed-token). It can read at most,
 * and it is not an assignable user.
 */
export const anonymousUsername = 'anonymous'

/** True for the name of the anonymous principal. */
export const isAnonymous = (username: string): boolean => foldUsername(username) === anonymousUsername

/** The cache key of the record of a user. Records before layout 2 have other keys: the same version may be of both. */
export const principalKey = (instanceId: string, username: string): string =>
  instanceKey(instanceId, `principal2:${foldUsername(username)}`)

/** Reads a stored record from its JSON text; undefined when this version of the software does not know its form. */
export const parseStoredPrincipal = (text: string): StoredPrincipal | undefined =>
  readStored(storedPrincipalSchema, text)
