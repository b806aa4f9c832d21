import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { LoadOrder, LoadResult } from './generator.ts'

/** Load on a server of this process, from a process of its own. */
export interface Load {
  /** @throws Error when an answer has not the status `expected` */
  run(order: LoadOrder & { readonly expected: string }): Promise<LoadResult>
  close(): void
}

/** Starts the process; it inherits how this one loads TypeScript. */
export function startLoad(): Load {
  const child = fork(fileURLToPath(new URL('generator.ts', import.meta.url)))
  const broken = new Promise<never>((_, reject) => {
    child.once('exit', (code) => reject(new Error(`the load generator has ended with ${code}`)))
  })
  broken.catch(() => {})
  return {
    run: async ({ expected, ...order }) => {
      const answered = new Promise<LoadResult>((resolve) =>
        child.once('message', (result: LoadResult) => resolve(result)),
      )
      child.send(order)
      const result = await Promise.race([answered, broken])
      if (Object.keys(result.byStatus).every((status) => status === expected)) return result
      throw new Error(`not all answers were ${expected}: ${JSON.stringify(result.byStatus)}`)
    },
    close: () => child.kill(),
  }
}
