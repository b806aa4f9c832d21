import { jsonAnswer, noStore } from './answer.ts'
import type { Route } from './routes.ts'

/** One thing a server depends on. */
export interface Dependency {
  readonly name: string
  /** Without it the server is not ready; with only the others missing it goes on, slower or for a while. */
  readonly required: boolean
  /** Resolves when it is there; rejects when it is not. */
  check(): Promise<unknown> | unknown
}

/** `/healthz`: the process runs. `/readyz`: it can serve, each dependency named; 503 when it cannot. */
export const healthRoutes = (dependencies: readonly Dependency[]): Route[] => [
  { methods: ['GET'], path: '/healthz', handle: () => jsonAnswer(200, { status: 'ok' }, noStore) },
  {
    methods: ['GET'],
    path: '/readyz',
    handle: async () => {
      const checked = await Promise.all(dependencies.map(checkOne))
      const ready = checked.every(({ status, required }) => status === 'ok' || !required)
      return jsonAnswer(ready ? 200 : 503, { status: ready ? 'ready' : 'not-ready', dependencies: checked }, noStore)
    },
  },
]

async function checkOne({ name, required, check }: Dependency) {
  try {
    await check()
    return { name, status: 'ok', required }
  } catch {
    return { name, status: 'unavailable', required }
  }
}
