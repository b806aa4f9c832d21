import { join } from 'node:path'
import type { Carry, Cycle } from '../load/connection.ts'
import { type Load, startLoad } from '../load/load.ts'
import type { CpuTimes, Subject, Turn } from '../runner/compare.ts'
import type { Settings } from '../runner/settings.ts'
import { cpuOfFamily } from './cpu-time.ts'
import { fillDeals, fillFloors, newDealsOf } from './deals.ts'
import { type Environment, openEnvironment } from './environment.ts'
import { build, type Keyhold, startKeyhold } from './keyhold.ts'
import { type Running, startServer } from './processes.ts'

/** The parts that comparisons use. */
export interface Bench {
  readonly settings: Settings
  readonly environment: Environment
  readonly keyhold: Keyhold
  /** An installation of the build in BENCH_FORMER_BUILD, with databases of its own. */
  formerKeyhold(): Promise<Keyhold>
  /** The floor of the deal server: `floors/bare-hono.mjs`. */
  readonly bareHono: Running
  readonly load: Load
  /** Reserves deals without changes, of Keyhold and of the floors. Returns the first number. */
  newDeals(count: number): number
  /** Adds a part of one measurement, which is closed after it. PostgreSQL has few connections for all of them. */
  closeLater(part: () => unknown): void
  /** Closes the parts of one measurement. */
  closeParts(): Promise<void>
  close(): Promise<void>
}

/** A file of the floors. */
export const floorFile = (name: string): string => join(import.meta.dirname, '../floors', name)

/** Compiles and starts all servers, and fills their databases. */
export async function openBench(settings: Settings): Promise<Bench> {
  const environment = await openEnvironment(settings)
  const opened: (() => unknown)[] = [environment.close]
  const parts: (() => unknown)[] = []
  const closeParts = async () => {
    for (const end of parts.splice(0).toReversed()) await end()
  }
  const close = async () => {
    await closeParts()
    for (const end of opened.toReversed()) await end()
  }
  try {
    await build()
    const start = async (buildFolder: string) => {
      const keyhold = await startKeyhold(environment, settings, buildFolder)
      opened.push(keyhold.close)
      await fillDeals(keyhold, settings.deals)
      return keyhold
    }
    const keyhold = await start('dist')
    let former: Promise<Keyhold> | undefined
    const formerKeyhold = () => {
      former ??= start(settings.formerBuild ?? '')
      return former
    }
    await fillFloors(environment.floors, settings.deals)
    const port = await environment.newPort()
    const command = [floorFile('bare-hono.mjs'), String(port), environment.floors.url]
    const bareHono = await startServer({ command, port })
    opened.push(bareHono.stop)
    const load = startLoad()
    opened.push(load.close)
    const closeLater = (part: () => unknown) => void parts.push(part)
    const newDeals = newDealsOf(settings.deals)
    return { settings, environment, keyhold, formerKeyhold, bareHono, load, newDeals, closeLater, closeParts, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Work over HTTP. */
export interface HttpWork {
  readonly server: Running
  /** The requests that a caller repeats. They are made once, or again for each turn. */
  requestsOf(caller: number): readonly string[] | Promise<readonly string[]>
  readonly madeForEachTurn?: boolean
  /** A value that each response to a caller passes on to its next request. */
  carryOf?(caller: number): Carry
  /** The status of every response; 200 when left out. */
  readonly expected?: string
}

/** A subject whose requests are sent by all connections at once. */
export function overHttp(bench: Bench, name: string, work: HttpWork): Subject {
  const { server, expected = '200', madeForEachTurn = false } = work
  let isPrepared = false
  const turn = async (seconds: number): Promise<Turn> => {
    if (!isPrepared || madeForEachTurn) await bench.load.prepare(name, await cyclesOf(bench, work))
    isPrepared = true
    const before = cpuSoFar(bench, server)
    const result = await bench.load.run({ name, seconds, expected })
    const { responses, p50Ms, p99Ms, cpuMicroseconds: load } = result
    const cpu = { ...cpuSince(before, cpuSoFar(bench, server), responses), load }
    return { perSecond: responses / result.seconds, cpu, p50Ms, p99Ms }
  }
  return { name, turn }
}

/** The cycles of all connections. Each connection sends the requests of several callers in turn. */
export function cyclesOf(
  bench: Bench,
  { server: { port }, requestsOf, carryOf }: Pick<HttpWork, 'server' | 'requestsOf' | 'carryOf'>,
): Promise<Cycle[]> {
  const { clients, callers } = bench.settings
  const cycles = Array.from({ length: clients }, async (_, client) => {
    const own = Array.from({ length: Math.floor((callers - 1 - client) / clients) + 1 }, (_, n) => client + n * clients)
    const requests = inTurn(await Promise.all(own.map(requestsOf)))
    return { port, requests, ...(carryOf && { carries: own.map(carryOf) }) }
  })
  return Promise.all(cycles)
}

/** The first element of each list, then the second of each, and so on. The lists are equally long. */
const inTurn = <T>(lists: readonly (readonly T[])[]): T[] =>
  (lists[0] ?? []).flatMap((_, index) => lists.flatMap((list) => list.slice(index, index + 1)))

/** CPU times of a server and the services so far, in microseconds. */
export function cpuSoFar({ environment: { services } }: Bench, server?: Running): CpuTimes {
  const { postgres, redis } = services.cpu()
  return {
    ...(server && { server: cpuOfFamily(server.pid) }),
    ...(postgres !== undefined && { postgres }),
    ...(redis !== undefined && { redis }),
  }
}

/** The difference of two CPU times, for each unit of work. */
export function cpuSince(before: CpuTimes, after: CpuTimes, units: number): CpuTimes {
  const names = Object.keys(after) as (keyof CpuTimes)[]
  return Object.fromEntries(names.map((name) => [name, ((after[name] ?? 0) - (before[name] ?? 0)) / units]))
}
