/**
 * The public keys that verify tokens of one kind, loaded from the auth server. At most one load runs at a time. Keys
 * stay in use after a failed load, and a response without a usable key never replaces them. A request with an unknown
 * `kid` waits for the next load, which all such requests share; between two such loads there is a pause.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'
import * as z from 'zod'
import { type BoundedCache, createBoundedCache } from '../../../shared/platform/cache/bounded-cache.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { accessTokenAlgOf } from '../../../shared/protocol/access-token/access-token.ts'
import type { VerificationKeys } from '../../../shared/protocol/access-token/verify-access-token.ts'
import { keyDocuments, keySetDigest } from '../../../shared/protocol/internal-api/published-keys.ts'
import type { FollowingSystems } from '../auth-client/auth-client.ts'
import { createPendingKeyLookups } from './pending-key-lookups.ts'

/** The interval of loads, in milliseconds: the `max-age` of the key document. */
const refreshIntervalMs = 300_000
/** Keys verify tokens for this time after they were loaded or confirmed, in milliseconds. */
const maxAgeMs = 86_400_000
/** Pause after a load, successful or not, before an unknown kid starts another load, in milliseconds. */
const coolDownMs = 250
/** How long a kid counts as unknown after a fresh set did not have it or a load removed it, in milliseconds. */
const unknownKidMs = 10_000
/** The largest number of lookups that wait for a load. */
const maxLookups = 1_000
/** Pause between two loads while there are no keys, in milliseconds. */
const emptyRetryMs = 500

const jwkSetSchema = z.object({ keys: z.array(z.record(z.string(), z.unknown())) })
const common = { use: z.literal('sig'), alg: z.string(), kid: z.string().min(1).max(128) }
const jwkSchema = z.discriminatedUnion('kty', [
  z.object({ ...common, kty: z.literal('RSA'), n: z.string(), e: z.literal('AQAB') }),
  z.object({ ...common, kty: z.literal('EC'), crv: z.literal('P-256'), x: z.string(), y: z.string() }),
  z.object({ ...common, kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: z.string() }),
])

/** What a document of keys is for. No key is ever used for both. */
type KeyPurpose = keyof typeof keyDocuments

interface FetchedKey {
  readonly publicKey: KeyObject
  /** As base64url; undefined for a key that is not RSA, which cannot be one of key-signed tokens. */
  readonly modulus: string | undefined
}

/** The keys of one document. It has none before the first load. */
export class KeyStore implements VerificationKeys {
  readonly #systems: FollowingSystems
  readonly #use: KeyPurpose
  readonly #servesElsewhere: (modulus: string) => boolean
  readonly #unknownKids: BoundedCache<true>
  readonly #lookups = createPendingKeyLookups()
  #keys: ReadonlyMap<string, FetchedKey> = new Map()
  #moduli: ReadonlySet<string | undefined> = new Set()
  #digest = ''
  /** Keys that were announced during a load: the load may have been too early for them. */
  #announcedDuringLoad: string | undefined
  #isFailing = false
  #confirmedAt = Number.NEGATIVE_INFINITY
  #loading: Promise<boolean> | undefined
  #loadedAt = Number.NEGATIVE_INFINITY
  #loadsBegun = 0
  #nextLoad: NodeJS.Timeout | undefined
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  /** `servesElsewhere`: true for the modulus of a key that has another purpose too. Such a key verifies nothing. */
  constructor(systems: FollowingSystems, use: KeyPurpose, servesElsewhere: (modulus: string) => boolean) {
    this.#systems = systems
    this.#use = use
    this.#servesElsewhere = servesElsewhere
    const { clock } = systems
    this.#unknownKids = createBoundedCache({ maxEntries: 1_000, maxBytes: 500_000, ttlMs: unknownKidMs, clock })
  }

  // Arrow functions, because schemes get these two functions alone.
  readonly key = (kid: string): KeyObject | undefined => {
    const key = this.ageMs() <= maxAgeMs ? this.#keys.get(kid) : undefined
    const servesElsewhere = key?.modulus !== undefined && this.#servesElsewhere(key.modulus)
    return servesElsewhere ? undefined : key?.publicKey
  }

  /**
   * Looks for a key: true when it is known. Waits for the first load that has the key, at most for a load that begins
   * after this call.
   * @throws Unavailable when that load fails, or when too many lookups wait: the key may have been published since
   */
  readonly findKey = async (kid: string): Promise<boolean> => {
    if (this.#keys.has(kid)) return true
    if (this.#unknownKids.has(kid)) return false
    const isHopeless = this.#isFailing && this.#loading === undefined && this.#coolDownLeftMs() > 0
    if (isHopeless || this.#stopped || this.#lookups.count() >= maxLookups) throw new Unavailable('auth-server')
    const found = this.#lookups.wait(kid, this.#loadsBegun)
    this.#loadForWaiting()
    const isKnown = await found
    if (!isKnown) this.#unknownKids.set(kid, true)
    return isKnown
  }

  /** Loads the keys; false without a usable set. Never rejects. */
  refresh(): Promise<boolean> {
    this.#loading ??= this.#begin()
    return this.#loading
  }

  /** The number of known keys. */
  size(): number {
    return this.#keys.size
  }

  /** True when a known key has this modulus (base64url), with any kid. */
  holds(modulus: string): boolean {
    return this.#moduli.has(modulus)
  }

  /**
   * Called when an auth server announces its published keys (`shared/protocol/internal-api/published-keys.ts`). When
   * they differ from the known keys, a load begins now, or after the current load.
   */
  onPublishedKeys(published: string): void {
    if (published === this.#digest) this.#confirmedAt = this.#systems.clock.monotonic()
    else if (this.#loading) this.#announcedDuringLoad = published
    else if (!this.#stopped) void this.refresh()
  }

  /** Milliseconds since the keys were loaded or confirmed; infinite before. */
  ageMs(): number {
    return this.#systems.clock.monotonic() - this.#confirmedAt
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
    clearTimeout(this.#nextLoad)
    this.#lookups.rejectAll()
  }

  #coolDownLeftMs(): number {
    return this.#loadedAt + coolDownMs - this.#systems.clock.monotonic()
  }

  /** Loads the keys for waiting lookups, after the pause. */
  #loadForWaiting(): void {
    if (this.#lookups.count() === 0 || this.#loading !== undefined || this.#nextLoad !== undefined) return
    const waitMs = this.#coolDownLeftMs()
    if (waitMs > 0) this.#nextLoad = setTimeout(() => void this.refresh(), waitMs)
    else void this.refresh()
  }

  #begin(): Promise<boolean> {
    clearTimeout(this.#nextLoad)
    this.#nextLoad = undefined
    this.#loadsBegun += 1
    return this.#load().finally(() => {
      this.#loading = undefined
      this.#loadedAt = this.#systems.clock.monotonic()
      const holds = (kid: string) => this.#keys.has(kid)
      this.#lookups.resolve({ load: this.#loadsBegun, hasFailed: this.#isFailing, holds })
      const announced = this.#announcedDuringLoad
      this.#announcedDuringLoad = undefined
      if (announced !== undefined) this.onPublishedKeys(announced)
      this.#loadForWaiting()
    })
  }

  async #load(): Promise<boolean> {
    try {
      const document = await this.#systems.authClient.document(keyDocuments[this.#use])
      const { keys: published } = jwkSetSchema.parse(document)
      const next = keysOf(published, this.#use)
      if (next.size === 0) throw new TypeError('the key document has no usable key')
      // A removed key never returns, so no lookup waits for it.
      for (const kid of this.#keys.keys()) if (!next.has(kid)) this.#unknownKids.set(kid, true)
      this.#keys = next
      this.#moduli = new Set([...next.values()].map((key) => key.modulus))
      this.#isFailing = false
      this.#confirmedAt = this.#systems.clock.monotonic()
      this.#digest = keySetDigest(published.map(({ kid }) => String(kid)))
      return true
    } catch (error) {
      const keysHeld = this.#keys.size
      if (!this.#isFailing) {
        this.#systems.log.warn({ err: error, keysHeld }, 'The public keys could not be loaded; known keys stay in use')
      }
      this.#isFailing = true
      return false
    }
  }
}

/**
 * The usable keys of a JWK Set: of the algorithm that their kind serves, RSA of at least 2048 bits, each with a kid
 * (RFC 7517, RFC 8725 §3.5).
 */
function keysOf(published: readonly unknown[], use: KeyPurpose): Map<string, FetchedKey> {
  const keys = new Map<string, FetchedKey>()
  for (const candidate of published) {
    const { data: jwk } = jwkSchema.safeParse(candidate)
    const publicKey = jwk && publicKeyOf(jwk)
    if (!publicKey || !isFor(use, jwk.alg, publicKey)) continue
    // In the encoding of this server: documents may encode the same modulus in several ways.
    keys.set(jwk.kid, { publicKey, modulus: publicKey.export({ format: 'jwk' }).n })
  }
  return keys
}

function isFor(use: KeyPurpose, alg: string, publicKey: KeyObject): boolean {
  const algOfKind = accessTokenAlgOf(publicKey)
  const isStrong = (publicKey.asymmetricKeyDetails?.modulusLength ?? 2048) >= 2048
  return isStrong && (use === 'jwt' ? alg === algOfKind : alg === 'kst1' && algOfKind === 'RS256')
}

/** Undefined for members that are no key, such as a point that is not on the curve. */
function publicKeyOf(jwk: z.infer<typeof jwkSchema>): KeyObject | undefined {
  try {
    return createPublicKey({ key: { ...jwk }, format: 'jwk' })
  } catch {
    return undefined
  }
}
