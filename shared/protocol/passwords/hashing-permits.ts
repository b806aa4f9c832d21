import { Permits } from '../../platform/concurrency/permits.ts'
import { sitePrefix } from '../../platform/http/client-prefix.ts'
import { Unavailable } from '../../platform/problems/errors.ts'

/**
 * Runs Argon2 work with a permit. The permit is returned when the work ends, even if its caller has gone away, because
 * the work goes on. `address` is the address of the client, where clients can cause the work without a credential: all
 * clients of one site together get a tenth of the queue.
 * @throws Unavailable(`hashing`) when the queue, or that site's part of it, is full; and the errors of the work
 */
export type WithHashingPermit = <Result>(work: () => Promise<Result>, address?: string) => Promise<Result>

/** The load of the hashing queue. */
export interface HashingLoad {
  readonly running: number
  readonly waiting: number
  /** How many were refused since the process started because the queue was full. */
  readonly refused: number
}

/** The permits and their load. */
export type HashingPermits = WithHashingPermit & { load(): HashingLoad }

/** The bounds of hashing. */
export interface HashingBounds {
  /** `HASH_CONCURRENCY`: hashes at once. More hashes than cores only make each one slower. */
  readonly concurrency: number
  /** How many may wait for a permit; without it, 100 for each concurrent hash, which is less than a second of work. */
  readonly maxQueued?: number
}

/**
 * Permits for a number of hashes at once, and a bounded queue in order of arrival. All hashing of a process must share
 * them.
 */
export function createHashingPermits({ concurrency, maxQueued = concurrency * 100 }: HashingBounds): HashingPermits {
  const permits = new Permits(concurrency)
  /** How many hashes of each site wait. */
  const ofSite = new Map<string, number>()
  const maxOfSite = Math.ceil(maxQueued / 10)
  let refused = 0
  const withPermit: WithHashingPermit = async (work, address) => {
    if (permits.running < concurrency) return permits.run(work)
    const site = address === undefined ? undefined : sitePrefix(address)
    const before = site === undefined ? 0 : (ofSite.get(site) ?? 0)
    if (permits.waiting >= maxQueued || before >= maxOfSite) {
      refused += 1
      throw new Unavailable('hashing', { retryAfterSeconds: 1 })
    }
    if (site === undefined) return permits.run(work)
    ofSite.set(site, before + 1)
    return permits.run(() => {
      const left = (ofSite.get(site) ?? 1) - 1
      if (left > 0) ofSite.set(site, left)
      else ofSite.delete(site)
      return work()
    })
  }
  return Object.assign(withPermit, { load: () => ({ running: permits.running, waiting: permits.waiting, refused }) })
}
