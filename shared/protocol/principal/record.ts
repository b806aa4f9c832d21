/**
 * The principal record: the facts about a user that decide whether a verified credential is accepted
 * (docs/contract/callers.md#principal-record). Only the auth server writes it. The deal server reads it from memory,
 * the cache or the auth server.
 */
import * as z from 'zod'
import { ownerKey } from './instance-id.ts'

/** The form of the record in the cache and on the wire. */
export const principalRecordSchema = z.object({
  /** The layout of the record. A reader treats a record with an unknown layout as absent. */
  schema: z.literal(1),
  /** As created: the name of the actor in events and responses. */
  username: z.string(),
  /** Immutable and never used again: a deleted user and a later one with the same name have two ids. */
  userId: z.string(),
  /** False when disabled or deleted. */
  enabled: z.boolean(),
  /** Effective rights: those of the roles and the direct ones. */
  rights: z.array(z.string()),
  /** The credential generation: a credential with another number is refused. */
  generation: z.number().int(),
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

/** A record with the current layout. */
export type PrincipalRecord = z.infer<typeof principalRecordSchema>

/**
 * Among `revokedIds`: the principal needs a second factor. Then they also hold every live login that had none. No id
 * has this form.
 */
export const secondFactorMark = 'second-factor-required'

/** True when the principal needs a second factor. */
export const needsSecondFactor = ({ revokedIds }: Pick<PrincipalRecord, 'revokedIds'>): boolean =>
  revokedIds.includes(secondFactorMark)

/** A principal in one instance. */
export interface InstancePrincipal {
  readonly instanceId: string
  /** Undefined: a user of this name never existed. */
  readonly record: PrincipalRecord | undefined
}

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

/** The cache key of the record of a user. */
export const principalKey = (instanceId: string, username: string): string =>
  ownerKey(instanceId, 'principal', foldUsername(username))

/** Reads a record from its JSON text; undefined when this version of the software does not know its form. */
export function parsePrincipalRecord(text: string): PrincipalRecord | undefined {
  try {
    return principalRecordSchema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}
