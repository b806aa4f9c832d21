import type { LoadResult } from '../load/generator.ts'
import { startLoad } from '../load/load.ts'
import type { OnRound } from '../runner/compare.ts'
import { median, rounded, spread } from '../runner/figures.ts'
import { type Bench, cyclesOf } from '../servers/bench.ts'
import { readDeal } from '../servers/requests.ts'
import { loginsOf } from './logins.ts'

/** The readers: so few and so slow that they never wait for a processor without logins. */
const readers = { count: 4, pauseMs: 4 }

/** Measures GET of one deal with a Bearer token while others log in as fast as they can. */
export async function measureReadsBesideLogins(bench: Bench, onRound: OnRound): Promise<string> {
  const { keyhold, load, settings } = bench
  const { rounds, seconds } = settings
  const logins = startLoad()
  bench.closeLater(logins.close)
  const requestsOf = await loginsOf(bench, 'login-beside')
  await logins.prepare('logins', await cyclesOf(bench, { server: keyhold.auth, requestsOf }))
  const get = (caller: number) => ({ port: keyhold.deal.port, requests: [readDeal(caller, keyhold.tokenOf(caller))] })
  const cycles = Array.from({ length: readers.count }, (_, client) => ({ ...get(client), pauseMs: readers.pauseMs }))
  await load.prepare('readers', cycles)
  const order = { seconds, expected: '200' }
  const read = () => load.run({ name: 'readers', ...order })
  const [idle, busy]: [LoadResult[], LoadResult[]] = [[], []]
  const rates: number[] = []
  for (let round = 0; round <= rounds; round += 1) {
    onRound(round, rounds + 1)
    const alone = await read()
    const [beside, { responses, seconds: took }] = await Promise.all([read(), logins.run({ name: 'logins', ...order })])
    if (round === 0) continue
    idle.push(alone)
    busy.push(beside)
    rates.push(responses / took)
  }
  return [
    `## GET of one deal with a Bearer token by ${readers.count} callers, beside logins`,
    '',
    `Medians of ${rounds} rounds of ${seconds} s:`,
    '',
    '| | p50 ms | × idle | p99 ms | × idle |',
    '|---|---:|---:|---:|---:|',
    row('idle', idle, idle),
    row(`beside ${rounded(median(rates))} logins/s`, busy, idle),
    '',
  ].join('\n')
}

function row(name: string, results: readonly LoadResult[], idle: readonly LoadResult[]): string {
  const cells = (['p50Ms', 'p99Ms'] as const).map((of) => {
    const values = (found: readonly LoadResult[]) => found.map((result) => result[of])
    return `${rounded(median(values(results)))} | ${spread(values(results), values(idle))}`
  })
  return `| ${name} | ${cells.join(' | ')} |`
}
