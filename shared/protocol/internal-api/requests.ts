/**
 * The proof that a request to `/internal` comes from a deal server or another service: HMAC-SHA256 over method, path,
 * time, nonce, body digest and the id of the service, under SERVICE_SECRET or the secret of the service. The secret
 * itself is never sent. Both sides use this file.
 */

import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { type Clock, unixSeconds } from '../../platform/clock.ts'
import { clockToleranceSeconds } from '../clock-tolerance.ts'

/** The parts of a request that are signed, beside its time and nonce. */
export interface InternalRequest {
  readonly method: string
  /** Path and query as on the request line. */
  readonly target: string
  readonly body: string
}

/** `Authorization: Keyhold-Internal id=…, time=…, nonce=…, mac=…`; the pair, with SERVICE_SECRET, has no id. */
export const internalSchemeName = 'keyhold-internal'

/**
 * How far the time of a request may be from now, either way, in seconds: the clock tolerance, and half a minute for a
 * request that is slow on its way.
 */
export const internalToleranceSeconds = clockToleranceSeconds + 30

/** The signer of a request, by the secret that signed it. */
export interface InternalCaller {
  /** The id of the service; undefined for the pair. */
  readonly id: string | undefined
  readonly secret: string
  /** A new one for each request. */
  readonly nonce: string
  /** Unix seconds. */
  readonly time: number
}

const credentialPattern =
  /^(?:id=([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}), )?time=(\d{1,12}), nonce=([A-Za-z0-9_-]{16,64}), mac=([A-Za-z0-9_-]{43})$/

interface InternalSigning {
  /** The id of the service that `secret` belongs to; left out with SERVICE_SECRET. */
  readonly id?: string | undefined
  readonly secret: string
  readonly clock: Clock
  readonly nonce: string
}

/** The value of the `Authorization` field of a signed request. */
export function signInternalRequest(request: InternalRequest, { id, secret, clock, nonce }: InternalSigning): string {
  const time = String(unixSeconds(clock.now()))
  const mac = macOf(request, secret, { id, time, nonce }).toString('base64url')
  return `Keyhold-Internal ${id === undefined ? '' : `id=${id}, `}time=${time}, nonce=${nonce}, mac=${mac}`
}

/** The id of the service that a credential names, which is not verified yet; undefined when it names none. */
export const idOfInternalCredential = (credential: string): string | undefined =>
  credentialPattern.exec(credential)?.[1]

/**
 * The signer of a request, when `credential` (the text after the scheme's name) is its signature under one of the
 * secrets and its time is close to now. Undefined otherwise. The secrets are those of the service that the credential
 * names, or SERVICE_SECRET when it names none. The caller must still check that the nonce was not used before.
 */
export function callerOfInternalRequest(
  request: InternalRequest,
  credential: string,
  { secrets, clock }: { secrets: readonly string[]; clock: Clock },
): InternalCaller | undefined {
  const [, id, time, nonce, mac] = credentialPattern.exec(credential) ?? []
  if (time === undefined || nonce === undefined || mac === undefined) return undefined
  if (Math.abs(Number(time) - unixSeconds(clock.now())) > internalToleranceSeconds) return undefined
  const sent = Buffer.from(mac, 'base64url')
  const secret = secrets.find((one) => {
    const expected = macOf(request, one, { id, time, nonce })
    return sent.length === expected.length && timingSafeEqual(sent, expected)
  })
  return secret === undefined ? undefined : { id, secret, nonce, time: Number(time) }
}

function macOf(
  { method, target, body }: InternalRequest,
  secret: string,
  { id, time, nonce }: { id: string | undefined; time: string; nonce: string },
): Buffer {
  const bodyDigest = createHash('sha256').update(body).digest('base64url')
  const signed = ['keyhold-internal-1', method, target, time, nonce, bodyDigest]
  return createHmac('sha256', secret)
    .update((id === undefined ? signed : [...signed, id]).join('\n'))
    .digest()
}
