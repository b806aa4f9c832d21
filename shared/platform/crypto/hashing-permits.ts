import { FairQueue } from '../concurrency/fair-queue.ts'
import { sitePrefix } from '../http/client-prefix.ts'
import { Unavailable } from '../problems/errors.ts'

/**
 * Runs Argon2 work with a permit. The permit is returned when the work ends, even if its caller has gone away, because
 * the work goes on. `address` is the address of the client, where clients can cause the work without a credential: the
 * clients of one site take turns with those of other sites.
 * @throws Unavailable(`hashing`) when the queue is full and no other site waits more; and the errors of the work
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
  /** How many may wait for a permit; without it, 100 for each concurrent hash: some seconds of work at most. */
  readonly maxQueued?: number
}

/** A piece of work in the queue. */
interface Waiting {
  start(): void
  refuse(): void
}

/**
 * Permits for a number of hashes at once, and a bounded queue in which sites take turns. All hashing of a process must
 * share them.
 */
export function createHashingPermits({ concurrency, maxQueued = concurrency * 100 }: HashingBounds): HashingPermits {
  const queue = new FairQueue<Waiting>(maxQueued)
  let running = 0
  let refused = 0
  const turn = (address: string | undefined): Promise<void> =>
    new Promise((start, reject) => {
      const refuse = () => {
        refused += 1
        reject(new Unavailable('hashing', { retryAfterSeconds: 1 }))
      }
      queue.add(address === undefined ? '' : sitePrefix(address), { start, refuse })?.refuse()
    })
  const withPermit: WithHashingPermit = async (work, address) => {
    if (running < concurrency) running += 1
    else await turn(address)
    try {
      return await work()
    } finally {
      const next = queue.take()
      if (next) next.start()
      else running -= 1
    }
  }
  return Object.assign(withPermit, { load: () => ({ running, waiting: queue.size, refused }) })
}
