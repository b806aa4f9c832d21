/**
 * The public keys that tokens of one kind are checked with, fetched from the auth server: one load in flight, good keys survive bad answers, and no
 * answer without a usable key ever replaces a good set. Who brings an unknown `kid` waits for the next load, which tells for all that wait; of
 * these loads there is at most one per cool-down.
 */

import { createPublicKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import { type BoundedCache, createBoundedCache } from '../../shared/platform/cache/bounded-cache.ts'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { VerificationKeys } from '../../shared/protocol/access-token/verify-access-token.ts'
import { keySetDigest } from '../../shared/protocol/internal-api/published-keys.ts'
import { createKeyQuestions } from './pending-key-lookups.ts'

export interface KeyStore extends VerificationKeys {
  /**
   * Waits for a load that began after the question, unless one brings the key before; true when the key is there.
   * @throws Unavailable when nobody can tell whether it was published since: that load failed, or too many wait
   */
  findKey(kid: string): Promise<boolean>
  /** Loads the keys; false when no usable set came. Never rejects. */
  refresh(): Promise<boolean>
  /** How many keys are held. */
  size(): number
  /** True when a key of this modulus (base64url) is held, under whatever kid. */
  holds(modulus: string): boolean
  /** An auth server said which keys are published (`shared/protocol/internal-api/published-keys.ts`): others than those held are loaded, by a load that begins later. */
  onPublishedKeys(published: string): void
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
const coolDownMs = 250
/** A kid that a fresh set did not have, or no longer, is not looked for again for this long, in milliseconds. */
const unknownKidMs = 10_000
/** So many wait for a load at once. */
const maxQuestions = 1_000
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
  readonly #unknownKids: BoundedCache<true>
  readonly #questions = createKeyQuestions()
  #keys: ReadonlyMap<string, FetchedKey> = new Map()
  #moduli: ReadonlySet<string> = new Set()
  #digest = ''
  /** Said while keys were loaded, which may not have been these yet. */
  #heardMeanwhile: string | undefined
  #isFailing = false
  #confirmedAt = Number.NEGATIVE_INFINITY
  #loading: Promise<boolean> | undefined
  #loadedAt = Number.NEGATIVE_INFINITY
  #loadsBegun = 0
  #nextLook: NodeJS.Timeout | undefined
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(ports: KeyStorePorts) {
    this.#ports = ports
    const { clock } = ports
    this.#unknownKids = createBoundedCache({ maxEntries: 1_000, maxBytes: 500_000, ttlMs: unknownKidMs, clock })
  }

  // Bound, since schemes are handed these alone.
  readonly key = (kid: string): KeyObject | undefined => {
    const key = this.ageMs() <= maxAgeMs ? this.#keys.get(kid) : undefined
    return key && !this.#ports.servesElsewhere?.(key.modulus) ? key.publicKey : undefined
  }

  readonly findKey = async (kid: string): Promise<boolean> => {
    if (this.#keys.has(kid)) return true
    if (this.#unknownKids.has(kid)) return false
    const isHopeless = this.#isFailing && this.#loading === undefined && this.#coolDownLeftMs() > 0
    if (isHopeless || this.#stopped || this.#questions.count() >= maxQuestions) throw new Unavailable('auth-server')
    const asked = this.#questions.ask(kid, this.#loadsBegun)
    this.#look()
    const isThere = await asked
    if (!isThere) this.#unknownKids.set(kid, true)
    return isThere
  }

  refresh(): Promise<boolean> {
    this.#loading ??= this.#begin()
    return this.#loading
  }

  size(): number {
    return this.#keys.size
  }

  holds(modulus: string): boolean {
    return this.#moduli.has(modulus)
  }

  onPublishedKeys(published: string): void {
    if (published === this.#digest) this.#confirmedAt = this.#ports.clock.monotonic()
    else if (this.#loading) this.#heardMeanwhile = published
    else if (!this.#stopped) void this.refresh()
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
    clearTimeout(this.#nextLook)
    this.#questions.giveUp()
  }

  #coolDownLeftMs(): number {
    return this.#loadedAt + coolDownMs - this.#ports.clock.monotonic()
  }

  /** Loads the keys for those who wait, as soon as that is allowed. */
  #look(): void {
    if (this.#questions.count() === 0 || this.#loading !== undefined || this.#nextLook !== undefined) return
    const waitMs = this.#coolDownLeftMs()
    if (waitMs > 0) this.#nextLook = setTimeout(() => void this.refresh(), waitMs)
    else void this.refresh()
  }

  #begin(): Promise<boolean> {
    clearTimeout(this.#nextLook)
    this.#nextLook = undefined
    this.#loadsBegun += 1
    return this.#load().finally(() => {
      this.#loading = undefined
      this.#loadedAt = this.#ports.clock.monotonic()
      const holds = (kid: string) => this.#keys.has(kid)
      this.#questions.settle({ load: this.#loadsBegun, hasFailed: this.#isFailing, holds })
      const heard = this.#heardMeanwhile
      this.#heardMeanwhile = undefined
      if (heard !== undefined) this.onPublishedKeys(heard)
      this.#look()
    })
  }

  async #load(): Promise<boolean> {
    try {
      const { keys: published } = jwkSetSchema.parse(await this.#ports.load())
      const next = keysOf(published, this.#ports.alg)
      if (next.size === 0) throw new TypeError('the key document has no usable key')
      // What is gone does not come back: nobody waits for it.
      for (const kid of this.#keys.keys()) if (!next.has(kid)) this.#unknownKids.set(kid, true)
      this.#keys = next
      this.#moduli = new Set([...next.values()].map((key) => key.modulus))
      this.#isFailing = false
      this.#confirmedAt = this.#ports.clock.monotonic()
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
