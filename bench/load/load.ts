import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Cycle } from './connection.ts'
import type { LoadOrder, LoadResult } from './generator.ts'

/** Load on a server of this process, from a process of its own. */
export interface Load {
  /** Says what each connection is to send: beforehand, since handing much of it over takes its time. */
  prepare(cycles: readonly Cycle[]): Promise<void>
  /** Sends it for so many seconds. @throws Error when an answer has not the status `expected` */
  run(order: { readonly seconds: number; readonly expected: string }): Promise<LoadResult>
  close(): void
}

/** Starts the process; it inherits how this one loads TypeScript. */
export function startLoad(): Load {
  const child = fork(fileURLToPath(new URL('generator.ts', import.meta.url)))
  const broken = new Promise<never>((_, reject) => {
    child.once('exit', (code) => reject(new Error(`the load generator has ended with ${code}`)))
  })
  broken.catch(() => {})
  const ask = <HttpResponse>(order: LoadOrder): Promise<HttpResponse> => {
    const answered = new Promise<HttpResponse>((resolve) =>
      child.once('message', (response: HttpResponse) => resolve(response)),
    )
    child.send(order)
    return Promise.race([answered, broken])
  }
  return {
    prepare: async (cycles) => {
      await ask<'ready'>({ cycles })
    },
    run: async ({ expected, seconds }) => {
      const result = await ask<LoadResult>({ seconds })
      if (Object.keys(result.byStatus).every((status) => status === expected)) return result
      throw new Error(`not all answers were ${expected}: ${JSON.stringify(result.byStatus)}`)
    },
    close: () => child.kill(),
  }
}
