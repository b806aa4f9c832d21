/**
 * The public keys that access tokens are checked with, fetched from the auth server: one load in flight, good keys survive bad answers, an
 * unknown `kid` costs at most one load per cool-down, and no answer without a usable key ever replaces a good set.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Clock } from '../../shared/clock.ts'
import type { Log } from '../../shared/log.ts'
import type { VerificationKeys } from '../../shared/tokens/verify-access-token.ts'
import type { AuthClient } from './auth-client.ts'

export interface KeyStore extends VerificationKeys {
  /** Loads the keys again unless that was done just now; true when the key is there. Never rejects. */
  findKey(kid: string): Promise<boolean>
  /** Loads the keys; false when no usable set came. Never rejects. */
  refresh(): Promise<boolean>
  /** How many keys are held. */
  size(): number
  start(): void
  stop(): void
}

/** The set is fetched anew this often, in milliseconds: the `max-age` of the key document. */
const refreshIntervalMs = 300_000
/** After a load, whatever came of it, unknown kids start no other one for this long, in milliseconds. */
const coolDownMs = 1_000
/** A kid that a fresh set did not have is not looked for again for this long, in milliseconds. */
const unknownKidMs = 10_000
/** Retry while there is no key at all, in milliseconds. */
const emptyRetryMs = 500

const jwkSetSchema = z.object({ keys: z.array(z.record(z.string(), z.unknown())) })
const rsaJwkSchema = z.object({
  kty: z.literal('RSA'),
  use: z.literal('sig'),
  alg: z.literal('RS256'),
  kid: z.string().min(1).max(128),
  n: z.string(),
  e: z.literal('AQAB'),
})

export function createKeyStore(ports: { authClient: AuthClient; clock: Clock; log: Log }): KeyStore {
  const { authClient, clock, log } = ports
  const unknownKids = new LRUCache<string, true>({ max: 1_000, ttl: unknownKidMs, perf: { now: clock.monotonic } })
  let keys: ReadonlyMap<string, KeyObject> = new Map()
  let loading: Promise<boolean> | undefined
  let loadedAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined

  const load = async (): Promise<boolean> => {
    try {
      const next = keysOf(await authClient.jwks())
      if (next.size === 0) throw new TypeError('the key document has no usable key')
      keys = next
      return true
    } catch (error) {
      log.warn({ err: error, keysHeld: keys.size }, 'the public keys could not be loaded; those held stay in use')
      return false
    }
  }

  const refresh = (): Promise<boolean> => {
    loadedAt = clock.monotonic()
    loading ??= load().finally(() => {
      loading = undefined
    })
    return loading
  }

  const findKey = async (kid: string): Promise<boolean> => {
    if (keys.has(kid)) return true
    if (unknownKids.has(kid)) return false
    const coolingDown = loading === undefined && clock.monotonic() - loadedAt < coolDownMs
    const loaded = coolingDown ? false : await refresh()
    if (loaded && !keys.has(kid)) unknownKids.set(kid, true)
    return keys.has(kid)
  }

  const tick = () => {
    const wait = keys.size === 0 ? emptyRetryMs : refreshIntervalMs
    timer = setTimeout(() => void refresh().then(tick), wait)
    timer.unref()
  }

  return {
    key: (kid) => keys.get(kid),
    findKey,
    refresh,
    size: () => keys.size,
    start: tick,
    stop: () => clearTimeout(timer),
  }
}

/** The usable keys of a JWK Set: RSA of at least 2048 bits for RS256 signatures, each with a kid (RFC 7517, RFC 8725 §3.5). */
function keysOf(document: unknown): Map<string, KeyObject> {
  const keys = new Map<string, KeyObject>()
  for (const candidate of jwkSetSchema.parse(document).keys) {
    const jwk = rsaJwkSchema.safeParse(candidate)
    if (!jwk.success) continue
    const key = createPublicKey({ key: { ...jwk.data }, format: 'jwk' })
    if ((key.asymmetricKeyDetails?.modulusLength ?? 0) >= 2048) keys.set(jwk.data.kid, key)
  }
  return keys
}
