/** The process that generates load, so that it takes nothing from the one that is measured. Driven by `load.ts`. */
import { type Cycle, drive, type Tally } from './connection.ts'

/** One order: what each connection sends, and for how long. */
export interface LoadOrder {
  readonly cycles: readonly Cycle[]
  readonly seconds: number
}

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

process.on('message', (order: LoadOrder) => {
  run(order).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      process.stderr.write(`The load broke off: ${error}\n`)
      process.exit(1)
    },
  )
})

async function run({ cycles, seconds }: LoadOrder): Promise<LoadResult> {
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
