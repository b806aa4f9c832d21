import { ProblemError } from '../../shared/platform/problems/errors.ts'

/** How long a command may wait for earlier commands on the same deal, in milliseconds. */
const maxWaitMs = 5_000

/** Runs the tasks of one key one after another, in order of arrival. Tasks of different keys run independently. */
export interface KeyedQueue {
  /** @throws ProblemError `command-in-progress` when `work` cannot start within five seconds; then `work` never runs */
  run<Result>(key: string, work: () => Promise<Result>): Promise<Result>
}

/** Makes a queue for this process. Between processes, the version guard of the commit decides. */
export function createKeyedQueue(): KeyedQueue {
  const waiting = new Map<string, (() => void)[]>()

  const next = (key: string) => {
    const start = waiting.get(key)?.shift()
    if (start) start()
    else waiting.delete(key)
  }

  const turn = (key: string): Promise<void> | undefined => {
    const queue = waiting.get(key)
    if (!queue) {
      waiting.set(key, [])
      return undefined
    }
    return new Promise((resolve, reject) => {
      const start = () => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        queue.splice(queue.indexOf(start), 1)
        reject(commandInProgress())
      }, maxWaitMs)
      queue.push(start)
    })
  }

  return {
    run: async (key, work) => {
      const wait = turn(key)
      if (wait) await wait
      try {
        return await work()
      } finally {
        next(key)
      }
    },
  }
}

const commandInProgress = () =>
  new ProblemError(
    'command-in-progress',
    'Other commands on this deal were still running after five seconds. Try again.',
    {
      retryAfterSeconds: 1,
      members: { final: false },
    },
  )
