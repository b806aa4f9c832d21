/**
 * The lease of the change feed: of all auth servers of an instance, one sends the heartbeats
 * (docs/revocation.md#one-publisher). The lease is an entry of the cache with a short life. Its holder renews it after
 * each heartbeat; the next server that finds none sends the heartbeat itself and takes it.
 *
 * Nothing depends on there being one holder: publishing twice is safe. So a server that finds anything unusual
 * publishes.
 */

import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import type { Cache, CacheTime } from '../../shared/platform/cache/cache.ts'
import { readStored } from '../../shared/platform/json.ts'
import { instanceKey } from '../../shared/protocol/principal/instance-id.ts'

/** What the holder says with each heartbeat. */
export interface Held {
  readonly instanceId: string
  /** Everything up to this version is announced. */
  readonly upTo: number
  /** The digest of the published keys that its messages carry. */
  readonly keys: string
}

/**
 * How long the lease lasts after a heartbeat, in seconds. With the pause of a server that looks for it, and the time of
 * its publication, it stays below the age at which deal servers stop to believe the feed.
 */
const lifeSeconds = 0.3

const entrySchema = z.object({ holder: z.string(), keys: z.string() })

/** The lease as one auth server sees it. */
export class PublishLease {
  readonly #cache: Cache
  readonly #ownId = randomUUID()
  /** What this server said when it held the lease last. */
  #last: Held | undefined

  constructor(cache: Cache) {
    this.#cache = cache
  }

  /** What the lease holder announced, if that is another server. @throws Unavailable */
  async ofAnother(instanceId: string): Promise<Held | undefined> {
    const entry = await this.#cache.getVersioned(leaseKey(instanceId))
    const parsed = entry && readStored(entrySchema, entry.value)
    if (!parsed || parsed.holder === this.#ownId) return undefined
    this.#last = undefined
    return { instanceId, upTo: entry.version, keys: parsed.keys }
  }

  /** Takes or renews it in the run of the cache of `since`, in which everything up to `upTo` was announced. */
  async hold({ instanceId, upTo, keys }: Held, since: CacheTime): Promise<void> {
    this.#last = { instanceId, upTo, keys }
    const value = JSON.stringify({ holder: this.#ownId, keys })
    const options = { since, ttlSeconds: lifeSeconds }
    await this.#cache.putVersioned(leaseKey(instanceId), { version: upTo, value }, options).catch(() => false)
  }

  /** Ends it, if this server holds it, so that another one takes it at its next look. Never rejects. */
  async release(): Promise<void> {
    const held = this.#last
    if (!held) return
    try {
      if (await this.ofAnother(held.instanceId)) return
      await this.#cache.putVersioned(
        leaseKey(held.instanceId),
        { version: held.upTo, value: '' },
        { ttlSeconds: 0.001 },
      )
    } catch {
      // It ends by itself.
    }
  }
}

const leaseKey = (instanceId: string): string => instanceKey(instanceId, 'principal-feed:publisher')
