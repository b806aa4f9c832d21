import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Percentiles, ProbeOrder, ProbeResult } from '../load/event-probe.ts'
import type { OnRound } from '../runner/compare.ts'
import { median, rounded, spread } from '../runner/figures.ts'
import { type Bench, cyclesOf } from '../servers/bench.ts'
import { dealId, holdAndUnhold } from '../servers/requests.ts'

/**
 * Measures how soon an event arrives on a stream: of the server that executed the command, and of another server; idle,
 * and while 32 callers write as fast as they can. It also measures the response to the command, PUBLISH, and the cost
 * of a stream for the writers.
 */
export async function measureLiveEvents(bench: Bench, onRound: OnRound): Promise<string> {
  const { keyhold, load, settings, newDeals, closeLater } = bench
  const { rounds, seconds } = settings
  const { accessToken: token, tokenOf } = keyhold
  const streamServers = { 'the same server': keyhold.deal, 'another server': await keyhold.startDealServer() }
  closeLater(streamServers['another server'].stop)
  const probe = startProbe()
  closeLater(probe.close)
  const first = newDeals(settings.callers)
  const requestsOf = (caller: number) => holdAndUnhold(first + caller, tokenOf(caller), { named: false })
  await load.prepare('writers', await cyclesOf(bench, { server: keyhold.deal, requestsOf }))
  const write = async () => (await load.run({ name: 'writers', seconds, expected: '200' })).responses / seconds
  const place = { port: keyhold.deal.port, token, redisUrl: bench.environment.redisUrl, seconds }
  const results = new Map<string, ProbeResult[]>()
  const rates = new Map<string, number[]>()
  for (let round = 0; round <= rounds; round += 1) {
    onRound(round, rounds + 1)
    const note = <Value>(notes: Map<string, Value[]>, name: string, value: Value) => {
      if (round > 0) notes.set(name, [...(notes.get(name) ?? []), value])
    }
    note(rates, 'no stream', await write())
    for (const [name, { port: streamPort }] of Object.entries(streamServers)) {
      const measure = () => probe.run({ ...place, streamPort, dealId: dealId(newDeals(1)) })
      note(results, `${name}, idle`, await measure())
      const [rate, busy] = await Promise.all([write(), measure()])
      note(results, `${name}, beside the writers`, busy)
      note(rates, `a stream of ${name}`, rate)
    }
  }
  return reportOf(results, rates, settings)
}

type Measured = Exclude<keyof ProbeResult, 'commands'>

const columns = { response: 'response', event: 'event', afterResponse: 'after the response', publish: 'PUBLISH' }

function reportOf(
  results: ReadonlyMap<string, readonly ProbeResult[]>,
  rates: ReadonlyMap<string, readonly number[]>,
  { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
): string {
  const cell = (found: readonly ProbeResult[], what: Measured) => {
    const middle = (of: keyof Percentiles) => rounded(median(found.map((result) => result[what][of])))
    return `${middle('p50')}, ${middle('p99')}`
  }
  const names = Object.keys(columns) as Measured[]
  const alone = rates.get('no stream') ?? []
  return [
    '## From a command to its event',
    '',
    `p50 and p99 in ms, medians of ${rounds} rounds of ${seconds} s:`,
    '',
    `| | ${names.map((name) => columns[name]).join(' | ')} |`,
    `|---${'|---:'.repeat(names.length)}|`,
    ...[...results].map(([name, found]) => `| ${name} | ${names.map((what) => cell(found, what)).join(' | ')} |`),
    '',
    '| writers beside | commits/s | × no stream |',
    '|---|---:|---:|',
    ...[...rates].map(([name, values]) => `| ${name} | ${rounded(median(values))} | ${spread(values, alone)} |`),
    '',
  ].join('\n')
}

function startProbe() {
  const child = fork(fileURLToPath(new URL('../load/event-probe.ts', import.meta.url)))
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
