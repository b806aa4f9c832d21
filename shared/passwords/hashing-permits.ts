import { Unavailable } from '../errors.ts'

/**
 * Runs Argon2 work in its turn. A permit is given back when the work ends and not when its caller goes away, since the work goes on.
 * @throws Unavailable(`hashing`) when too many wait; whatever the work throws
 */
export type WithHashingPermit = <Result>(work: () => Promise<Result>) => Promise<Result>

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
  let free = concurrency
  let refused = 0
  const withPermit: WithHashingPermit = async (work) => {
    if (free > 0) free -= 1
    else if (waiting.length < maxQueued) await new Promise<void>((resolve) => waiting.push(resolve))
    else {
      refused += 1
      throw new Unavailable('hashing', { retryAfterSeconds: 1 })
    }
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
