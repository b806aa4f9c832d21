/**
 * The public keys that tokens of one kind are checked with, fetched from the auth server: one load in flight, good keys survive bad answers, an
 * unknown `kid` costs at most one load per cool-down, and no answer without a usable key ever replaces a good set.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Clock } from '../../shared/clock.ts'
import { Unavailable } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { keySetDigest } from '../../shared/tokens/key-set.ts'
import type { VerificationKeys } from '../../shared/tokens/verify-access-token.ts'

export interface KeyStore extends VerificationKeys {
  /**
   * Loads the keys again unless that was done just now; true when the key is there.
   * @throws Unavailable when it is not, and the last load failed: nobody can tell then whether it was published since
   */
  findKey(kid: string): Promise<boolean>
  /** Loads the keys; false when no usable set came. Never rejects. */
  refresh(): Promise<boolean>
  /** How many keys are held. */
  size(): number
  /** True when a key of this modulus (base64url) is held, under whatever kid. */
  holds(modulus: string): boolean
  /** Which keys the document had that was loaded last (`shared/tokens/key-set.ts`). */
  digest(): string
  /** An auth server said that what is held is what is published. */
  confirm(): void
  /** Milliseconds since the keys were loaded or confirmed; infinite before. */
  ageMs(): number
  start(): void
  stop(): void
}

/** The set is fetched anew this often, in milliseconds: the `max-age` of the key document. */
const refreshIntervalMs = 300_000
/** Keys that nobody has confirmed for this long verify nothing any more, in milliseconds. */
const maxAgeMs = 86_400_000
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
  alg: z.string(),
  kid: z.string().min(1).max(128),
  n: z.string(),
  e: z.literal('AQAB'),
})

interface KeyStorePorts {
  /** Gets the key document, a JWK Set, unchecked. */
  readonly load: () => Promise<unknown>
  /** The `alg` of usable keys: `RS256` for access tokens, `kst1` for key-signed ones. No key ever serves both. */
  readonly alg: 'RS256' | 'kst1'
  /** True for the modulus of a key that serves another purpose too: such a key verifies nothing. */
  readonly servesElsewhere?: (modulus: string) => boolean
  readonly clock: Clock
  readonly log: Log
}

/** The keys of one document; none until the first load. */
export function createKeyStore(ports: KeyStorePorts): KeyStore {
  return new FetchedKeys(ports)
}

interface FetchedKey {
  readonly publicKey: KeyObject
  readonly modulus: string
}

class FetchedKeys implements KeyStore {
  readonly #ports: KeyStorePorts
  readonly #unknownKids: LRUCache<string, true>
  #keys: ReadonlyMap<string, FetchedKey> = new Map()
  #moduli: ReadonlySet<string> = new Set()
  #digest = ''
  #isFailing = false
  #confirmedAt = Number.NEGATIVE_INFINITY
  #loading: Promise<boolean> | undefined
  #loadedAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(ports: KeyStorePorts) {
    this.#ports = ports
    const perf = { now: ports.clock.monotonic }
    this.#unknownKids = new LRUCache({ max: 1_000, ttl: unknownKidMs, ttlResolution: 0, perf })
  }

  // Bound, since schemes are handed these alone.
  readonly key = (kid: string): KeyObject | undefined => {
    const key = this.ageMs() <= maxAgeMs ? this.#keys.get(kid) : undefined
    return key && !this.#ports.servesElsewhere?.(key.modulus) ? key.publicKey : undefined
  }

  readonly findKey = async (kid: string): Promise<boolean> => {
    if (this.#keys.has(kid)) return true
    if (this.#unknownKids.has(kid)) return false
    // A load that was under way may have begun before the key was published: it does not say that there is none.
    const isUnderWay = this.#loading !== undefined
    const isCoolingDown = !isUnderWay && this.#ports.clock.monotonic() - this.#loadedAt < coolDownMs
    const loaded = isCoolingDown ? false : await this.refresh()
    if (this.#keys.has(kid)) return true
    if (this.#isFailing) throw new Unavailable('auth-server')
    if (loaded && !isUnderWay) this.#unknownKids.set(kid, true)
    return false
  }

  refresh(): Promise<boolean> {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined
      this.#loadedAt = this.#ports.clock.monotonic()
    })
    return this.#loading
  }

  size(): number {
    return this.#keys.size
  }

  holds(modulus: string): boolean {
    return this.#moduli.has(modulus)
  }

  digest(): string {
    return this.#digest
  }

  confirm(): void {
    this.#confirmedAt = this.#ports.clock.monotonic()
  }

  ageMs(): number {
    return this.#ports.clock.monotonic() - this.#confirmedAt
  }

  start(): void {
    if (this.#stopped) return
    const wait = this.#keys.size === 0 ? emptyRetryMs : refreshIntervalMs
    this.#timer = setTimeout(() => void this.refresh().then(() => this.start()), wait)
    this.#timer.unref()
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  async #load(): Promise<boolean> {
    try {
      const { keys: published } = jwkSetSchema.parse(await this.#ports.load())
      const next = keysOf(published, this.#ports.alg)
      if (next.size === 0) throw new TypeError('the key document has no usable key')
      this.#keys = next
      this.#moduli = new Set([...next.values()].map((key) => key.modulus))
      this.#isFailing = false
      this.confirm()
      this.#digest = keySetDigest(published.map(({ kid }) => String(kid)))
      return true
    } catch (error) {
      const keysHeld = this.#keys.size
      if (!this.#isFailing) {
        this.#ports.log.warn({ err: error, keysHeld }, 'the public keys could not be loaded; those held stay in use')
      }
      this.#isFailing = true
      return false
    }
  }
}

/** The usable keys of a JWK Set: RSA of at least 2048 bits for this algorithm, each with a kid (RFC 7517, RFC 8725 §3.5). */
function keysOf(published: readonly unknown[], alg: string): Map<string, FetchedKey> {
  const keys = new Map<string, FetchedKey>()
  for (const candidate of published) {
    const jwk = rsaJwkSchema.safeParse(candidate)
    if (!jwk.success || jwk.data.alg !== alg) continue
    const publicKey = createPublicKey({ key: { ...jwk.data }, format: 'jwk' })
    if ((publicKey.asymmetricKeyDetails?.modulusLength ?? 0) < 2048) continue
    // As this server would spell it: the document may spell one modulus in several ways.
    keys.set(jwk.data.kid, { publicKey, modulus: publicKey.export({ format: 'jwk' }).n ?? '' })
  }
  return keys
}
