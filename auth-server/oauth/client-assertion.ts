/**
 * Client authentication by `private_key_jwt` (RFC 7521 §4.2, RFC 7523 §2.2 and §3): a JWT that the client signs for one
 * use. jose verifies it with a key from PEM.
 */

import { createPublicKey, type KeyObject } from 'node:crypto'
import { decodeJwt, type JWSHeaderParameters, jwtVerify } from 'jose'
import * as z from 'zod'
import { createMemo } from '../../shared/platform/cache/memo.ts'
import { type Clock, unixSeconds } from '../../shared/platform/clock.ts'
import { namesForeignKey, readJwsHeader } from '../../shared/protocol/access-token/jws-header.ts'
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
  isSignedBy(publicKeyPem: string): Promise<boolean>
}

/** Reads an assertion for one of these audiences. Undefined when no signature could make it acceptable. */
export function readClientAssertion(
  text: string,
  { audiences, clock }: { readonly audiences: readonly string[]; readonly clock: Clock },
): ClientAssertion | undefined {
  const header = text.length > maxLength ? undefined : readJwsHeader(text)
  if (header === undefined || typeof header === 'string' || !isHeaderRight(header)) return undefined
  const { data } = claimsSchema.safeParse(claimsOf(text))
  if (!data || data.iss !== data.sub) return undefined
  const [audience = ''] = [data.aud].flat()
  if (!audiences.includes(audience) || !isTimely(data, unixSeconds(clock.now()))) return undefined
  return {
    clientId: data.iss,
    jti: data.jti,
    expiresAt: Math.ceil(data.exp),
    isSignedBy: (pem) => isSigned(text, { pem, now: clock.now() }),
  }
}

/** The type is optional, but a token with the type of something else is no assertion (RFC 8725 §3.11). */
const isHeaderRight = (header: JWSHeaderParameters): boolean =>
  header.alg === assertionAlg &&
  !namesForeignKey(header) &&
  (header.typ === undefined ||
    (typeof header.typ === 'string' && /^(jwt|(application\/)?client-authentication\+jwt)$/i.test(header.typ)))

/** The claims, not verified yet; undefined when they are not JSON. */
function claimsOf(text: string): unknown {
  try {
    return decodeJwt(text)
  } catch {
    return undefined
  }
}

/** Public keys by their PEM: jose imports each of these objects once. */
const keys = createMemo<KeyObject>({ maxEntries: 1_000, maxBytes: 4_000_000 })

async function isSigned(text: string, { pem, now }: { readonly pem: string; readonly now: number }): Promise<boolean> {
  const expected = { algorithms: [assertionAlg], currentDate: new Date(now), clockTolerance: clockToleranceSeconds }
  try {
    await jwtVerify(text, keys.get(pem, createPublicKey), expected)
    return true
  } catch {
    return false
  }
}

const isTimely = ({ exp, nbf, iat }: z.infer<typeof claimsSchema>, now: number): boolean =>
  exp > now &&
  exp <= now + maxTtlSeconds + clockToleranceSeconds &&
  (nbf === undefined || nbf <= now + clockToleranceSeconds) &&
  (iat === undefined || iat <= now + clockToleranceSeconds)
