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

/** So many works at once and so many waiting, in order of arrival. All hashing of a process must share them. */
export function createHashingPermits({ concurrency, maxQueued = concurrency * 100 }: HashingBounds): HashingPermits {
  const waiting: (() => void)[] = []
  /** How many wait, by site. */
  const ofSite = new Map<string, number>()
  const maxOfSite = Math.ceil(maxQueued / 10)
  let free = concurrency
  let refused = 0
  const turn = async (site: string | undefined): Promise<void> => {
    const before = site === undefined ? 0 : (ofSite.get(site) ?? 0)
    if (waiting.length >= maxQueued || before >= maxOfSite) {
      refused += 1
      throw new Unavailable('hashing', { retryAfterSeconds: 1 })
    }
    if (site !== undefined) ofSite.set(site, before + 1)
    await new Promise<void>((resolve) => waiting.push(resolve))
    if (site === undefined) return
    const left = (ofSite.get(site) ?? 1) - 1
    if (left > 0) ofSite.set(site, left)
    else ofSite.delete(site)
  }
  const withPermit: WithHashingPermit = async (work, address) => {
    if (free > 0) free -= 1
    else await turn(address === undefined ? undefined : sitePrefix(address))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
  return Object.assign(withPermit, { load: () => ({ running: concurrency - free, waiting: waiting.length, refused }) })
}
