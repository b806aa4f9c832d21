import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type Bench, cyclesFor, dealNumbers } from './bench.ts'
import { median } from './compare.ts'
import type { Percentiles, ProbeOrder, ProbeResult } from './load/event-probe.ts'
import { dealId, holdAndUnhold } from './requests.ts'

/**
 * Measures how soon an event arrives on a stream: of the server that executed the command, and of another server; idle,
 * and while 32 callers write as fast as they can. It also measures the response to the command, PUBLISH, and the cost
 * of a stream for the writers.
 */
export async function measureLiveEvents(
  bench: Bench & { readonly redisUrl: string },
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<string> {
  const { clients, servers, load, redisUrl } = bench
  const newDeals = dealNumbers(bench)
  const other = await servers.listenAnotherServer()
  const probe = startProbe()
  const first = newDeals(clients)
  const requestsOf = (client: number) => holdAndUnhold(first + client, servers.accessToken, { named: false })
  await load.prepare(cyclesFor(clients, servers.port, requestsOf))
  const write = async () => (await load.run({ seconds, expected: '200' })).responses / seconds
  const measure = (streamPort: number) => {
    const { port, accessToken: token } = servers
    return probe.run({ port, streamPort, token, dealId: dealId(newDeals(1)), redisUrl, seconds })
  }
  const turns = new Map<string, ProbeResult[]>()
  const rates = { without: [] as number[], 'the same server': [] as number[], 'another server': [] as number[] }
  const note = (name: string, result: ProbeResult) => turns.set(name, [...(turns.get(name) ?? []), result])
  for (let round = 0; round <= rounds; round += 1) {
    const without = await write()
    if (round > 0) rates.without.push(without)
    for (const [name, port] of [['the same server', servers.port] as const, ['another server', other.port] as const]) {
      const idle = await measure(port)
      const [rate, busy] = await Promise.all([write(), measure(port)])
      if (round === 0) continue
      rates[name].push(rate)
      note(`${name}, idle`, idle)
      note(`${name}, beside the writers`, busy)
    }
  }
  probe.close()
  await other.close()
  return [
    `From a command to its event  (ms, p50 and p99; median of ${rounds} rounds of ${seconds} s)`,
    ...[...turns].map(([name, results]) => line(name, results)),
    ...Object.entries(rates).map(([name, values]) => rateLine(name, values, rates.without)),
    '',
  ].join('\n')
}

type Measured = Exclude<keyof ProbeResult, 'commands'>

function line(name: string, results: readonly ProbeResult[]): string {
  const middle = (what: Measured, of: keyof Percentiles) => median(results.map((result) => result[what][of]))
  const shown = (what: Measured) => `${middle(what, 'p50').toFixed(2)} ${middle(what, 'p99').toFixed(1)}`
  const ratio = median(results.map(({ event, response }) => event.p50 / response.p50)).toFixed(2)
  return [
    `  ${name.padEnd(42)}`,
    `response ${shown('response')}  event ${shown('event')}  × ${ratio}`,
    `  after the response ${shown('afterResponse')}  PUBLISH ${shown('publish')}`,
  ].join('')
}

function rateLine(name: string, rates: readonly number[], floor: readonly number[]): string {
  const title = name === 'without' ? 'writers, no stream' : `writers, stream of ${name}`
  const ratio = median(rates.map((rate, round) => rate / (floor[round] ?? Number.NaN)))
  return `  ${title.padEnd(42)}${Math.round(median(rates))}/s  × ${ratio.toFixed(2)}`
}

function startProbe() {
  const child = fork(fileURLToPath(new URL('load/event-probe.ts', import.meta.url)))
  const broken = new Promise<never>((_, reject) => {
    child.once('exit', (code) => reject(new Error(`The probe ended with ${code}.`)))
  })
  broken.catch(() => {})
  return {
    run: (order: ProbeOrder): Promise<ProbeResult> => {
      const received = new Promise<ProbeResult>((resolve) =>
        child.once('message', (result: ProbeResult) => resolve(result)),
      )
      child.send(order)
      return Promise.race([received, broken])
    },
    close: () => child.kill(),
  }
}
