import type { Operation } from '../operation.ts'
import { jsonResponse, noStore } from '../response.ts'
import type { Draining } from './drain.ts'
import type { Route } from './routes.ts'

/** A dependency of a server. */
export interface Dependency {
  readonly name: string
  /**
   * True if the server is not ready without it. Without other dependencies the server works on, slower or for a limited
   * time.
   */
  readonly required: boolean
  /** Resolves when it is available, rejects when it is not. */
  check(): Promise<unknown> | unknown
}

/**
 * `/healthz`: the process runs. `/readyz`: the server can serve, with all dependencies; 503 when it cannot, or is about
 * to end.
 */
export const healthRoutes = (dependencies: readonly Dependency[], draining?: Draining): Route[] => [
  {
    methods: ['GET'],
    path: '/healthz',
    describe: () => [healthOperation],
    handle: () => jsonResponse(200, { status: 'ok' }, noStore),
  },
  {
    methods: ['GET'],
    path: '/readyz',
    describe: () => [readinessOperation],
    handle: async () => {
      const checked = await Promise.all(dependencies.map(checkOne))
      const ready = checked.every(({ status, required }) => status === 'ok' || !required)
      const status = draining?.hasBegun ? 'draining' : ready ? 'ready' : 'not-ready'
      return jsonResponse(status === 'ready' ? 200 : 503, { status, dependencies: checked }, noStore)
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

const open = { tags: ['operation'], problems: [], security: [] } as const

const healthOperation: Operation = {
  ...open,
  id: 'getHealth',
  summary: 'Ask whether the process runs',
  description: 'It asks nobody else: a process that does not answer should be started again.',
  responses: {
    200: {
      description: 'It does.',
      schema: { type: 'object', required: ['status'], properties: { status: { const: 'ok' } } },
    },
  },
}

const readinessSchema = {
  type: 'object',
  required: ['status', 'dependencies'],
  properties: {
    status: { enum: ['ready', 'not-ready', 'draining'] },
    dependencies: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name', 'status', 'required'],
        properties: {
          name: { type: 'string' },
          status: { enum: ['ok', 'unavailable'] },
          required: { type: 'boolean', description: 'Without it the server is not ready.' },
        },
      },
    },
  },
} as const

const readinessOperation: Operation = {
  ...open,
  id: 'getReadiness',
  summary: 'Ask whether the server can serve, each dependency named',
  description: 'For balancers: a server that is not ready, or is about to stop, should get no requests.',
  responses: {
    200: { description: 'It can.', schema: readinessSchema },
    503: { description: 'It cannot.', schema: readinessSchema },
  },
}
