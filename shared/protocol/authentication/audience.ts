/**
 * The audience of a credential (RFC 7519 §4.1.3): the service that the credential is for. `resource` chooses it when
 * the credential is issued (RFC 8707). Every other service refuses the credential.
 */
import { audienceDigest } from '../key-signed-token/key-signed-payload.ts'

/**
 * An audience as a credential names it. Access tokens and sessions have the name, or several names. Key-signed tokens
 * have the digest. Null means the audience of the pair, whatever its name is.
 */
export type NamedAudience = string | readonly string[] | Buffer | null

/** The audience of a service that verifies credentials. */
export interface Audience {
  readonly name: string
  /** By `audienceDigest`. */
  readonly digest: Buffer
  /** True for the audience of the auth server and the deal server (AUDIENCE). */
  readonly isOfPair: boolean
}

/** The audience with this name. */
export const createAudience = (name: string, { isOfPair }: Pick<Audience, 'isOfPair'>): Audience => ({
  name,
  digest: audienceDigest(name),
  isOfPair,
})

/** True when a credential that names `named` is for this audience. */
export function isAudience({ name, digest, isOfPair }: Audience, named: NamedAudience): boolean {
  if (typeof named === 'string') return named === name
  if (named === null) return isOfPair
  return Buffer.isBuffer(named) ? digest.equals(named) : named.includes(name)
}
