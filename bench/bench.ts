import type { Turn } from './compare.ts'
import type { Cycle } from './load/connection.ts'
import type { Load } from './load/load.ts'
import type { Servers } from './servers.ts'

/** What a comparison may use. */
export interface Bench {
  readonly clients: number
  /** So many deals are there, numbered from 0. */
  readonly deals: number
  readonly servers: Servers
  readonly load: Load
  /** The database, for whatever goes there directly. */
  readonly url: string
}

/** Work over HTTP: the cycle of every connection, and the status that every answer must have. */
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
    perSecond: result.answers / result.seconds,
    cpuMicroseconds: (user + system) / result.answers,
    notes: { 'p50 ms': result.p50Ms, 'p99 ms': result.p99Ms, 'load µs': result.cpuMicroseconds },
  }
}

/** `clients` connections to `port`, each with requests of its own. */
export const cyclesFor = (clients: number, port: number, requestsOf: (client: number) => readonly string[]): Cycle[] =>
  Array.from({ length: clients }, (_, client) => ({ port, requests: requestsOf(client) }))

/** Hands out numbers of deals that nobody has written to, from the middle of the table on. */
export function dealNumbers({ deals }: Bench): (count: number) => number {
  let next = Math.floor(deals / 2)
  return (count) => {
    const first = next
    next += count
    if (next > deals) throw new Error('there are not enough deals: raise BENCH_DEALS')
    return first
  }
}
