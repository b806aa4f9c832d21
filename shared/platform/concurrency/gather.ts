/**
 * Gathers the calls of concurrent callers into batches, such as one statement for each batch. Calls of one turn of the
 * event loop form a batch. While `maxInFlight` batches run, new calls form the next batch. A single caller does not
 * wait for others. A batch runs in the context of its first caller.
 */
import { callerContext, type InContext } from './caller-context.ts'

/** How batches are formed and run. */
export interface GatherOptions<Item, Result> {
  /** Runs a batch. Answers one result for each item, in order. */
  run(items: readonly Item[]): Promise<readonly Result[]>
  /**
   * True for an error that one item caused. The items are then run one by one, so that each gets its own result or
   * error. Left out: every error is that of all items.
   */
  isItemError?(error: unknown): boolean
  /** Two items with the same key never share a batch. */
  key?(item: Item): string
  /**
   * What a batch with this item locks: an item waits while a batch that runs has its lock. So no batch waits for
   * another one, with all its items.
   */
  lock?(item: Item): number
  /** Without a bound when left out. */
  readonly maxItems?: number
  readonly maxInFlight: number
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly lock: number | undefined
  readonly context: InContext | undefined
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/** A function for one item, answered from a batch. */
export function gather<Item, Result>(options: GatherOptions<Item, Result>): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = []
  const locks = new Set<number>()
  let inFlight = 0
  let scheduled = false

  const schedule = () => {
    if (scheduled || inFlight >= options.maxInFlight || waiting.length === 0) return
    scheduled = true
    setImmediate(() => {
      scheduled = false
      const [batch, rest] = takeBatch(waiting, locks, options)
      // All that waits needs a lock: the end of a batch begins the next one.
      if (batch.length === 0) return
      waiting = rest
      void run(batch)
      schedule()
    })
  }

  const run = async (batch: readonly Waiting<Item, Result>[]) => {
    const taken = batch.flatMap(({ lock }) => lock ?? [])
    for (const lock of taken) locks.add(lock)
    inFlight += 1
    const inContext = batch[0]?.context
    await (inContext ? inContext(() => settle(batch, options)) : settle(batch, options))
    inFlight -= 1
    for (const lock of taken) locks.delete(lock)
    schedule()
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, lock: options.lock?.(item), context: callerContext(), resolve, reject })
      schedule()
    })
}

function takeBatch<Item, Result>(
  waiting: Waiting<Item, Result>[],
  locks: ReadonlySet<number>,
  { key, lock, maxItems = Number.POSITIVE_INFINITY }: GatherOptions<Item, Result>,
): [Waiting<Item, Result>[], Waiting<Item, Result>[]] {
  if (!key && !lock) return [waiting.slice(0, maxItems), waiting.slice(maxItems)]
  const keys = new Set<string>()
  const batch: Waiting<Item, Result>[] = []
  const rest: Waiting<Item, Result>[] = []
  for (const entry of waiting) {
    const itemKey = key?.(entry.item)
    const isFree = (itemKey === undefined || !keys.has(itemKey)) && (entry.lock === undefined || !locks.has(entry.lock))
    if (batch.length < maxItems && isFree) {
      if (itemKey !== undefined) keys.add(itemKey)
      batch.push(entry)
    } else rest.push(entry)
  }
  return [batch, rest]
}

async function settle<Item, Result>(
  batch: readonly Waiting<Item, Result>[],
  options: GatherOptions<Item, Result>,
): Promise<void> {
  try {
    const results = await options.run(batch.map(({ item }) => item))
    batch.forEach(({ resolve }, index) => {
      resolve(results[index] as Result)
    })
  } catch (error) {
    if (batch.length > 1 && options.isItemError?.(error))
      await Promise.all(batch.map((entry) => settle([entry], options)))
    else for (const { reject } of batch) reject(error)
  }
}
