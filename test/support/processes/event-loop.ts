/** How long work holds the event loop of this process: the longest stretch in which nothing else had its turn. */
import { existsSync, readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** The time that Linux has given to this thread alone, in nanoseconds, to within one of its ticks (4 ms at most). */
const ownTime = '/proc/thread-self/schedstat'

/** Milliseconds in which this thread has worked; where the system does not tell, milliseconds on the wall. */
const worked: () => number = existsSync(ownTime)
  ? () => Number(readFileSync(ownTime, 'latin1').split(' ', 1)[0]) / 1e6
  : () => performance.now()

/** Runs `work` and tells the longest turn of the event loop meanwhile, in milliseconds of this thread's own time. */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let isDone = false
  let before = worked()
  const doing = work().finally(() => {
    isDone = true
  })
  while (!isDone) {
    await nextTurn()
    const after = worked()
    longest = Math.max(longest, after - before)
    before = after
  }
  await doing
  return longest
}

/**
 * The least of several measurements, in milliseconds; the first one below `enough` is the last. The compiler, the
 * garbage collector and whatever else happens in this thread only add to a measurement: the least is nearest to what
 * the work itself takes.
 */
export async function leastLongestTurn(
  work: () => Promise<unknown>,
  { enough, tries }: { readonly enough: number; readonly tries: number },
): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < tries && least >= enough; round += 1) least = Math.min(least, await longestTurn(work))
  return least
}

/** Keeps this thread busy for so many milliseconds of its own time. */
export function spin(milliseconds: number): void {
  for (const end = worked() + milliseconds; worked() < end; );
}

/** What `timesSlower` does takes so long on the machine that limits are made for, in milliseconds. */
const usualMs = 32

/** How many times slower than that this machine is now, at least once. */
export function timesSlower(): number {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < 3; round += 1) {
    const before = worked()
    for (let index = 0; index < 400; index += 1) JSON.parse(JSON.stringify(sample))
    least = Math.min(least, worked() - before)
  }
  return Math.max(1, least / usualMs)
}

const sample = Array.from({ length: 100 }, (_, index) => ({ id: index, name: `name ${index}`, tags: ['a', 'b'] }))
