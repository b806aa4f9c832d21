/**
 * The principal record: what a server must know of a user to accept or refuse a verified credential. Written by the auth server
 * alone; the deal server reads it from memory, the cache or the auth server (CONTRACT "Principal record").
 */
import { z } from 'zod'
import { installationKey } from './instance-id.ts'

/** The form in the cache and on the wire. */
export const principalRecordSchema = z.strictObject({
  /** Layout of this record; a reader that does not know it treats the record as absent. */
  schema: z.literal(1),
  /** As created; what an actor is called in events and answers. */
  username: z.string(),
  /** Immutable, never used again: two users of one name one after the other are two ids. */
  userId: z.string(),
  /** False when disabled or deleted. */
  enabled: z.boolean(),
  /** Effective rights: those of the roles and the direct ones together. */
  rights: z.array(z.string()),
  /** The credential generation: what carries another number is dead. */
  generation: z.number().int(),
  /** The one login that stays alive with its former generation: the one that changed its own password. */
  keptLogin: z.strictObject({ id: z.string(), generation: z.number().int() }).nullable(),
  /** Ids of ended logins some of whose tokens have not expired yet. */
  endedLogins: z.array(z.string()),
  /** Grows with every change of this principal; never falls, not even when a deleted name is created anew: the number of its latest change. */
  version: z.number().int(),
})

/** A record of the present layout. */
export type PrincipalRecord = z.infer<typeof principalRecordSchema>

/** A principal in one installation. */
export interface InstalledPrincipal {
  readonly installationId: string
  /** Undefined: there never was such a user. */
  readonly record: PrincipalRecord | undefined
}

/**
 * The form of a user's name: 1 to 64 of `[A-Za-z0-9._@-]`, but not `.` and `..`. Neither can be a segment of a path, encoded or not (RFC 3986
 * §5.2.4, WHATWG URL): at `/users/{username}` nobody could ever disable, delete or log out such a user.
 */
export const usernamePattern = /^(?!\.{1,2}$)[A-Za-z0-9._@-]{1,64}$/

/** True when `username` can be a user's name. */
export const isUsername = (username: string): boolean => usernamePattern.test(username)

/** User names are looked up folding ASCII case: the form under which records are kept. */
export const foldUsername = (username: string): string =>
  hasCapitals.test(username) ? username.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : username

const hasCapitals = /[A-Z]/

/** The principal of credentials that name no user (CONTRACT section 3): it reads at most, and is nobody's employee. */
export const anonymousUsername = 'anonymous'

/** True for that principal's name. */
export const isAnonymous = (username: string): boolean => foldUsername(username) === anonymousUsername

/** The cache key of a user's record. */
export const principalKey = (installationId: string, username: string): string =>
  installationKey(installationId, `principal:${foldUsername(username)}`)

/** Reads a record from its JSON text; undefined when it is not one this version of the software knows. */
export function parsePrincipalRecord(text: string): PrincipalRecord | undefined {
  try {
    return principalRecordSchema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}
