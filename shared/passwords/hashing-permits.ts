import { Unavailable } from '../errors.ts'

/**
 * Runs Argon2 work in its turn. A permit is given back when the work ends and not when its caller goes away, since the work goes on.
 * @throws Unavailable(`hashing`) when too many wait; whatever the work throws
 */
export type WithHashingPermit = <Result>(work: () => Promise<Result>) => Promise<Result>

/** How hashing is bounded. */
export interface HashingBounds {
  /** `HASH_CONCURRENCY`: hashes at once. More than there are cores only makes each slower. */
  readonly concurrency: number
  /** How many may wait beyond these; 100 for each concurrent one when left out, which is less than a second of work. */
  readonly maxQueued?: number
}

/** So many works at once and so many waiting, in order of arrival. All hashing of a process must share them. */
export function createHashingPermits({ concurrency, maxQueued = concurrency * 100 }: HashingBounds): WithHashingPermit {
  const waiting: (() => void)[] = []
  let free = concurrency
  return async (work) => {
    if (free > 0) free -= 1
    else if (waiting.length < maxQueued) await new Promise<void>((resolve) => waiting.push(resolve))
    else throw new Unavailable('hashing', { retryAfterSeconds: 1 })
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
}
