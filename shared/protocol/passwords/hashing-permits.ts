import { Permits } from '../../platform/concurrency/permits.ts'
import { sitePrefix } from '../../platform/http/client-prefix.ts'
import { Unavailable } from '../../platform/problems/errors.ts'

/**
 * Runs Argon2 work in its turn. A permit is given back when the work ends and not when its caller goes away, since the work goes on.
 * `address` is that of the client for whom it is, where a stranger can ask for it: the clients of one site together get a tenth of the queue.
 * @throws Unavailable(`hashing`) when too many wait, or too many of that site; whatever the work throws
 */
export type WithHashingPermit = <Result>(work: () => Promise<Result>, address?: string) => Promise<Result>

/** How busy hashing is. */
export interface HashingLoad {
  readonly running: number
  readonly waiting: number
  /** How many found the queue full since the process started. */
  readonly refused: number
}

/** The permits, and how many are taken. */
export type HashingPermits = WithHashingPermit & { load(): HashingLoad }

/** How hashing is bounded. */
export interface HashingBounds {
  /** `HASH_CONCURRENCY`: hashes at once. More than there are cores only makes each slower. */
  readonly concurrency: number
  /** How many may wait beyond these; 100 for each concurrent one when left out, which is less than a second of work. */
  readonly maxQueued?: number
}

/** Permits for a number of hashes at once, and a bounded queue in order of arrival. All hashing of a process must share them. */
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
