/**
 * The proof that a request to `/internal` comes from a deal server: HMAC-SHA256 under SERVICE_SECRET over method, path,
 * time, nonce and body digest. The secret itself is never sent. Both servers use this file.
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

/** `Authorization: Keyhold-Internal time=…, nonce=…, mac=…` */
export const internalSchemeName = 'keyhold-internal'

/**
 * How far the time of a request may be from now, either way, in seconds: the clock tolerance, and half a minute for a
 * request that is slow on its way.
 */
export const internalToleranceSeconds = clockToleranceSeconds + 30

/** The signer of a request, by the secret that signed it. */
export interface InternalCaller {
  readonly secret: string
  /** A new one for each request. */
  readonly nonce: string
  /** Unix seconds. */
  readonly time: number
}

const credentialPattern = /^time=(\d{1,12}), nonce=([A-Za-z0-9_-]{16,64}), mac=([A-Za-z0-9_-]{43})$/

/** The value of the `Authorization` field of a signed request. */
export function signInternalRequest(
  request: InternalRequest,
  { secret, clock, nonce }: { secret: string; clock: Clock; nonce: string },
): string {
  const time = String(unixSeconds(clock.now()))
  const mac = macOf(request, secret, { time, nonce }).toString('base64url')
  return `Keyhold-Internal time=${time}, nonce=${nonce}, mac=${mac}`
}

/**
 * The signer of a request, when `credential` (the text after the scheme's name) is its signature under one of the
 * secrets and its time is close to now. Undefined otherwise. The caller must still check that the nonce was not used
 * before.
 */
export function callerOfInternalRequest(
  request: InternalRequest,
  credential: string,
  { secrets, clock }: { secrets: readonly string[]; clock: Clock },
): InternalCaller | undefined {
  const [, time, nonce, mac] = credentialPattern.exec(credential) ?? []
  if (time === undefined || nonce === undefined || mac === undefined) return undefined
  if (Math.abs(Number(time) - unixSeconds(clock.now())) > internalToleranceSeconds) return undefined
  const sent = Buffer.from(mac, 'base64url')
  const secret = secrets.find((one) => {
    const expected = macOf(request, one, { time, nonce })
    return sent.length === expected.length && timingSafeEqual(sent, expected)
  })
  return secret === undefined ? undefined : { secret, nonce, time: Number(time) }
}

function macOf(
  { method, target, body }: InternalRequest,
  secret: string,
  stamp: { time: string; nonce: string },
): Buffer {
  const bodyDigest = createHash('sha256').update(body).digest('base64url')
  return createHmac('sha256', secret)
    .update(['keyhold-internal-1', method, target, stamp.time, stamp.nonce, bodyDigest].join('\n'))
    .digest()
}
