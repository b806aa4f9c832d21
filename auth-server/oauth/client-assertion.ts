/**
 * Client authentication by `private_key_jwt` (RFC 7521 §4.2, RFC 7523 §2.2 and §3): a JWT that the client signs for one
 * use.
 *
 * The signature is verified without jose: jose waits behind Argon2id hashes in libuv's thread pool, and logins hash on
 * this server (`verify-access-token.ts` has the figures). A token verified with a key from PEM, as an assertion is,
 * took 420 to 445 µs of CPU time this way and 1,051 to 1,293 µs by jose. Its share of a whole token request was not
 * measured.
 */

import { createPublicKey } from 'node:crypto'
import * as z from 'zod'
import { type Clock, unixSeconds } from '../../shared/platform/clock.ts'
import {
  type CompactJws,
  isSignedRs256,
  namesForeignKey,
  parseCompactJws,
  parseJsonObject,
} from '../../shared/protocol/access-token/compact-jws.ts'
import { clockToleranceSeconds } from '../../shared/protocol/clock-tolerance.ts'

/** `client_assertion_type`. */
export const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** The only signature algorithm. */
export const assertionAlg = 'RS256'

/** The longest life of an assertion, in seconds. Its use is remembered for that time. */
const maxTtlSeconds = 3600

/** The greatest length of an assertion, in characters. Longer texts are refused unread. */
const maxLength = 8192

const claimsSchema = z.object({
  iss: z.string().max(256),
  sub: z.string().max(256),
  aud: z.union([z.string(), z.array(z.string()).length(1)]),
  exp: z.number(),
  nbf: z.number().optional(),
  iat: z.number().optional(),
  jti: z.string().min(1).max(256),
})

/** An assertion with the right form and claims. Its signature is not verified yet. */
export interface ClientAssertion {
  readonly clientId: string
  readonly jti: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
  /** True when this key (SPKI PEM) signed it. */
  isSignedBy(publicKeyPem: string): boolean
}

/** Reads an assertion for one of these audiences. Undefined when no signature could make it acceptable. */
export function readClientAssertion(
  text: string,
  { audiences, clock }: { readonly audiences: readonly string[]; readonly clock: Clock },
): ClientAssertion | undefined {
  const jws = text.length > maxLength ? undefined : parseCompactJws(text)
  if (jws === undefined || typeof jws === 'string' || !isHeaderRight(jws)) return undefined
  const { data } = claimsSchema.safeParse(parseJsonObject(jws.payload))
  if (!data || data.iss !== data.sub) return undefined
  const [audience = ''] = [data.aud].flat()
  if (!audiences.includes(audience) || !isTimely(data, unixSeconds(clock.now()))) return undefined
  return {
    clientId: data.iss,
    jti: data.jti,
    expiresAt: Math.ceil(data.exp),
    isSignedBy: (pem) => isSignedRs256(jws, createPublicKey(pem)),
  }
}

/** The type is optional, but a token with the type of something else is no assertion (RFC 8725 §3.11). */
const isHeaderRight = ({ header }: CompactJws): boolean =>
  header.alg === assertionAlg &&
  !namesForeignKey(header) &&
  (header.typ === undefined ||
    (typeof header.typ === 'string' && /^(jwt|(application\/)?client-authentication\+jwt)$/i.test(header.typ)))

const isTimely = ({ exp, nbf, iat }: z.infer<typeof claimsSchema>, now: number): boolean =>
  exp > now &&
  exp <= now + maxTtlSeconds + clockToleranceSeconds &&
  (nbf === undefined || nbf <= now + clockToleranceSeconds) &&
  (iat === undefined || iat <= now + clockToleranceSeconds)
