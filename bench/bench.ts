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

/** One turn over HTTP: every connection goes through its cycle, and every answer must be 200. */
export async function httpTurn({ load }: Bench, cycles: readonly Cycle[], seconds: number): Promise<Turn> {
  const before = process.cpuUsage()
  const result = await load.run({ cycles, seconds, expected: '200' })
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
