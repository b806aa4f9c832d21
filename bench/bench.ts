import type { Turn } from './compare.ts'
import type { Cycle } from './load/connection.ts'
import type { Load } from './load/load.ts'
import type { Servers } from './servers.ts'

/** The parts that comparisons use. */
export interface Bench {
  readonly clients: number
  /** The number of deals; they are numbered from 0. */
  readonly deals: number
  readonly servers: Servers
  readonly load: Load
  /** The URL of the database, for direct connections. */
  readonly url: string
}

/** Work over HTTP: the cycle of every connection, and the status that every response must have. */
export interface HttpWork {
  readonly cycles: readonly Cycle[]
  readonly expected: string
}

/** One turn over HTTP. */
export async function httpTurn({ load }: Bench, { cycles, expected }: HttpWork, seconds: number): Promise<Turn> {
  await load.prepare(cycles)
  const before = process.cpuUsage()
  const result = await load.run({ seconds, expected })
  const { user, system } = process.cpuUsage(before)
  return {
    perSecond: result.responses / result.seconds,
    cpuMicroseconds: (user + system) / result.responses,
    notes: { 'p50 ms': result.p50Ms, 'p99 ms': result.p99Ms, 'load µs': result.cpuMicroseconds },
  }
}

/** The cycles of `clients` connections to `port`, each with its own requests. */
export const cyclesFor = (clients: number, port: number, requestsOf: (client: number) => readonly string[]): Cycle[] =>
  Array.from({ length: clients }, (_, client) => ({ port, requests: requestsOf(client) }))

/** Makes a function that reserves deals without changes, from the middle of the table. It returns the first number. */
export function dealNumbers({ deals }: Bench): (count: number) => number {
  let next = Math.floor(deals / 2)
  return (count) => {
    const first = next
    next += count
    if (next > deals) throw new Error('There are not enough deals: increase BENCH_DEALS.')
    return first
  }
}
