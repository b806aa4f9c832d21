/**
 * The access tokens of services (RFC 6749 §4.4): `khs1.<id>.<expiry>.<MAC>`, with a MAC under the secret that got the
 * token. Such a token is no JWT, and only this auth server can check it. So no deal server, no other service and no
 * route that wants a user can take it for a user's, whatever audience it expects; and it ends with its service, and
 * with its secret.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { type Clock, unixSeconds } from '../../shared/platform/clock.ts'
import { deriveKey } from '../../shared/platform/crypto/derive-key.ts'
import type { ProvenService, ReadService } from './service-secrets.ts'

const tokenForm = /^khs1\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(\d{1,12})\.([A-Za-z0-9_-]{43})$/

/** A token, and its life in seconds. */
export interface ServiceToken {
  readonly token: string
  readonly expiresInSeconds: number
}

/**
 * Issues a token for a service that has proved itself by a secret. The token does not outlive a former secret:
 * undefined when that one ends now.
 */
export function issueServiceToken(
  { service, secret, until }: ProvenService,
  { clock, ttlSeconds }: { readonly clock: Clock; readonly ttlSeconds: number },
): ServiceToken | undefined {
  const now = unixSeconds(clock.now())
  const expiresAt = Math.min(now + ttlSeconds, until === null ? Number.POSITIVE_INFINITY : unixSeconds(until))
  if (expiresAt <= now) return undefined
  const mac = macOf(secret, service.id, expiresAt).toString('base64url')
  return { token: `khs1.${service.id}.${expiresAt}.${mac}`, expiresInSeconds: expiresAt - now }
}

/**
 * The service of a token that has not expired, while the secret that got it is accepted. Undefined for every other
 * text. @throws Unavailable
 */
export async function serviceOfToken(
  token: string,
  { readService, clock }: { readonly readService: ReadService; readonly clock: Clock },
): Promise<ProvenService | undefined> {
  const [, id, expiry, mac] = tokenForm.exec(token) ?? []
  if (id === undefined || expiry === undefined || mac === undefined) return undefined
  const [expiresAt, sent] = [Number(expiry), Buffer.from(mac, 'base64url')]
  if (expiresAt <= unixSeconds(clock.now())) return undefined
  const service = await readService(id)
  const found = service?.secrets.find(({ secret }) => timingSafeEqual(macOf(secret, id, expiresAt), sent))
  const until = Math.min(expiresAt * 1000, found?.until ?? Number.POSITIVE_INFINITY)
  return service && found ? { service, secret: found.secret, until } : undefined
}

const macOf = (secret: string, id: string, expiresAt: number): Buffer =>
  createHmac('sha256', deriveKey(secret, 'service tokens')).update(`${id}.${expiresAt}`).digest()
