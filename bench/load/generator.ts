/** The process that generates load, so that the measured process does not. `load.ts` controls it. */
import { type Cycle, drive, type Tally } from './connection.ts'

/**
 * An order: the requests of each connection under a name, confirmed when they are received; or to send the requests of
 * that name for a time.
 */
export type LoadOrder =
  | { readonly name: string; readonly cycles: readonly Cycle[] }
  | { readonly name: string; readonly seconds: number }

/** The result of a run. */
export interface LoadResult {
  readonly responses: number
  readonly seconds: number
  /** Status → number of responses. */
  readonly byStatus: Readonly<Record<string, number>>
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU time of this process for one response, in microseconds. It must be below that of the measured process. */
  readonly cpuMicroseconds: number
}

const prepared = new Map<string, readonly Cycle[]>()

process.on('message', (order: LoadOrder) => {
  if ('cycles' in order) {
    prepared.set(order.name, order.cycles)
    process.send?.('ready')
    return
  }
  run(order).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      process.stderr.write(`The load failed: ${error}\n`)
      process.exit(1)
    },
  )
})

async function run({ name, seconds }: { name: string; seconds: number }): Promise<LoadResult> {
  const cycles = prepared.get(name) ?? []
  const tally: Tally = { byStatus: new Map(), latenciesMs: [] }
  const started = performance.now()
  const cpu = process.cpuUsage()
  await Promise.all(cycles.map((cycle) => drive(cycle, tally, started + seconds * 1000)))
  const { user, system } = process.cpuUsage(cpu)
  const took = (performance.now() - started) / 1000
  const sorted = Float64Array.from(tally.latenciesMs).sort()
  const responses = sorted.length
  return {
    responses,
    seconds: took,
    byStatus: Object.fromEntries(tally.byStatus),
    p50Ms: sorted[Math.floor(responses * 0.5)] ?? 0,
    p99Ms: sorted[Math.floor(responses * 0.99)] ?? 0,
    cpuMicroseconds: (user + system) / responses,
  }
}
