/** Work that runs side by side, whose results are wanted in the order of its items. */
import { setImmediate as letOthersRun } from 'node:timers/promises'
import { KeyedQueue } from './keyed-queue.ts'

interface OrderedWork<Result> {
  /** Work of one key runs one after another, in order; work without a key beside all other. */
  readonly key: string | undefined
  /** Must not reject: an error is a result. */
  run(): Promise<Result>
}

/** How items are worked on. */
export interface OrderedRun<Item, Result> {
  /** How many items may be begun whose results were not taken: the bound of what runs and what waits in memory. */
  readonly maxAhead: number
  /** Called in order. Must not throw. */
  prepare(item: Item): OrderedWork<Result>
  /** Takes a result, in order. The next ones wait for it. */
  take(result: Result): Promise<void>
  /** When it is aborted, nothing more is begun or taken. */
  readonly stopped: AbortSignal
}

/** After this many results, other work of this process gets its turn. */
const turnLength = 16

/** Works on all items. Resolves when all that was begun has ended. @throws the error of `take`, after the same */
export async function runInOrder<Item, Result>(
  items: Iterable<Item>,
  { maxAhead, prepare, take, stopped }: OrderedRun<Item, Result>,
): Promise<void> {
  const queue = new KeyedQueue()
  const ahead: Promise<Result | undefined>[] = []

  const begin = ({ key, run }: OrderedWork<Result>): Promise<Result | undefined> =>
    key === undefined ? run() : queue.run(key, async () => (stopped.aborted ? undefined : run()))

  const rest = items[Symbol.iterator]()
  const fill = () => {
    while (ahead.length < maxAhead && !stopped.aborted) {
      const next = rest.next()
      if (next.done) return
      ahead.push(begin(prepare(next.value)))
    }
  }

  try {
    fill()
    for (let taken = 1; ahead.length > 0 && !stopped.aborted; taken += 1) {
      const result = await ahead.shift()
      if (result !== undefined && !stopped.aborted) await take(result)
      if (taken % turnLength === 0) await letOthersRun()
      fill()
    }
  } finally {
    await Promise.allSettled(ahead)
  }
}
