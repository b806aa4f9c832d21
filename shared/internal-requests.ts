/**
 * How the deal server proves itself at the auth server's `/internal`: HMAC-SHA256 under SERVICE_SECRET over method, path, time, nonce and
 * body digest. The secret never travels. Both sides use this one file.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { type Clock, unixSeconds } from './clock.ts'

/** What is signed. */
export interface InternalRequest {
  readonly method: string
  /** Path and query as on the request line. */
  readonly target: string
  readonly body: string
}

/** `Authorization: Keyhold-Internal time=…, nonce=…, mac=…` */
export const internalSchemeName = 'keyhold-internal'

/** How far the clocks of the two servers may be apart, in seconds. */
const toleranceSeconds = 90

const credentialPattern = /^time=(\d{1,12}), nonce=([A-Za-z0-9_-]{16,64}), mac=([A-Za-z0-9_-]{43})$/

/** The value of the `Authorization` field for a request. */
export function signInternalRequest(
  request: InternalRequest,
  { secret, clock, nonce }: { secret: string; clock: Clock; nonce: string },
): string {
  const time = String(unixSeconds(clock.now()))
  return `Keyhold-Internal time=${time}, nonce=${nonce}, mac=${macOf(request, secret, { time, nonce }).toString('base64url')}`
}

/**
 * The one of the secrets under which the credential (what follows the scheme's name) signs this request, not too long ago: the one that
 * the asker holds. Undefined when there is none.
 */
export function secretOfInternalRequest(
  request: InternalRequest,
  credential: string,
  { secrets, clock }: { secrets: readonly string[]; clock: Clock },
): string | undefined {
  const [, time, nonce, mac] = credentialPattern.exec(credential) ?? []
  if (time === undefined || nonce === undefined || mac === undefined) return undefined
  if (Math.abs(Number(time) - unixSeconds(clock.now())) > toleranceSeconds) return undefined
  const presented = Buffer.from(mac, 'base64url')
  return secrets.find((secret) => {
    const expected = macOf(request, secret, { time, nonce })
    return presented.length === expected.length && timingSafeEqual(presented, expected)
  })
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
