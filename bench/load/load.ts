import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Cycle } from './connection.ts'
import type { LoadOrder, LoadResult } from './generator.ts'

/** Load on servers, from a process of its own. */
export interface Load {
  /** Passes the requests of each connection to the process, before the measurement: many requests take time. */
  prepare(name: string, cycles: readonly Cycle[]): Promise<void>
  /**
   * Sends the requests of this name for this time. A value that they carry is kept from one run to the next.
   *
   * @throws Error when a response has another status than `expected`
   */
  run(order: { readonly name: string; readonly seconds: number; readonly expected: string }): Promise<LoadResult>
  close(): void
}

/** Starts the process. It loads TypeScript in the same way as this process. */
export function startLoad(): Load {
  const child = fork(fileURLToPath(new URL('generator.ts', import.meta.url)))
  const broken = new Promise<never>((_, reject) => {
    child.once('exit', (code) => reject(new Error(`The load generator ended with ${code}.`)))
  })
  broken.catch(() => {})
  const send = <Reply>(order: LoadOrder): Promise<Reply> => {
    const received = new Promise<Reply>((resolve) => child.once('message', (reply: Reply) => resolve(reply)))
    child.send(order)
    return Promise.race([received, broken])
  }
  return {
    prepare: async (name, cycles) => {
      await send<'ready'>({ name, cycles })
    },
    run: async ({ expected, ...order }) => {
      const result = await send<LoadResult>(order)
      if (Object.keys(result.byStatus).every((status) => status === expected)) return result
      throw new Error(`Not all responses to "${order.name}" were ${expected}: ${JSON.stringify(result.byStatus)}`)
    },
    close: () => child.kill(),
  }
}
