/** The process that generates load, so that it takes nothing from the one that is measured. Driven by `load.ts`. */
import { type Cycle, drive, type Tally } from './connection.ts'

/** What each connection sends from now on, answered when it is there; or for how long to send it. */
export type LoadOrder = { readonly cycles: readonly Cycle[] } | { readonly seconds: number }

export interface LoadResult {
  readonly answers: number
  readonly seconds: number
  /** How many answers had each status. */
  readonly byStatus: Readonly<Record<string, number>>
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU time of this process per answer, in microseconds: the load must cost less than what it measures. */
  readonly cpuMicroseconds: number
}

let cycles: readonly Cycle[] = []

process.on('message', (order: LoadOrder) => {
  if ('cycles' in order) {
    cycles = order.cycles
    process.send?.('ready')
    return
  }
  run(order.seconds).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      process.stderr.write(`The load broke off: ${error}\n`)
      process.exit(1)
    },
  )
})

async function run(seconds: number): Promise<LoadResult> {
  const tally: Tally = { byStatus: new Map(), latenciesMs: [] }
  const started = performance.now()
  const cpu = process.cpuUsage()
  await Promise.all(cycles.map((cycle) => drive(cycle, tally, started + seconds * 1000)))
  const { user, system } = process.cpuUsage(cpu)
  const took = (performance.now() - started) / 1000
  const sorted = Float64Array.from(tally.latenciesMs).sort()
  const answers = sorted.length
  return {
    answers,
    seconds: took,
    byStatus: Object.fromEntries(tally.byStatus),
    p50Ms: sorted[Math.floor(answers * 0.5)] ?? 0,
    p99Ms: sorted[Math.floor(answers * 0.99)] ?? 0,
    cpuMicroseconds: (user + system) / answers,
  }
}
