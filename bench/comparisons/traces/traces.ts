import { join } from 'node:path'
import type { Comparison, Subject } from '../../runner/compare.ts'
import { numbersOf, readBareDeal } from '../../servers/bare-reads.ts'
import { type Bench, overHttp } from '../../servers/bench.ts'
import type { StartOptions } from '../../servers/keyhold.ts'
import { type Running, startServer } from '../../servers/processes.ts'
import { holdAndUnhold, readDeal } from '../../servers/requests.ts'

/** Compares GET of a deal with and without traces. All servers are alike otherwise, each has a process of its own. */
export async function readWithTraces(bench: Bench): Promise<Comparison> {
  const { keyhold, settings } = bench
  const numberOf = numbersOf(bench)
  const servers = await startServers(bench)
  const requestsOf = (caller: number) => [readDeal(numberOf(caller), keyhold.tokenOf(caller))]
  const subjects = servers.map(([name, server]) => overHttp(bench, { name, server, requestsOf }))
  return {
    title: `GET of one deal with traces by ${settings.callers} callers, Bearer`,
    unit: 'responses',
    floors: [readBareDeal(bench), ...subjects.slice(0, 1)],
    subjects: subjects.slice(1),
  }
}

/** The same for HoldDeal and UnholdDeal in turn. */
export async function holdWithTraces(bench: Bench): Promise<Comparison> {
  const { keyhold, settings } = bench
  const servers = await startServers(bench)
  const subjects = servers.map(([name, server]): Subject => {
    const first = bench.newDeals(settings.callers)
    const requestsOf = (caller: number) => holdAndUnhold(first + caller, keyhold.tokenOf(caller), { named: false })
    return overHttp(bench, { name, server, requestsOf })
  })
  return {
    title: `HoldDeal and UnholdDeal with traces by ${settings.callers} callers, Bearer`,
    unit: 'commits',
    floors: subjects.slice(0, 1),
    subjects: subjects.slice(1),
  }
}

/** The servers, the one without a collector first. */
async function startServers(bench: Bench): Promise<(readonly [name: string, server: Running])[]> {
  const { environment, keyhold, settings } = bench
  const port = await environment.newPort()
  const collector = await startServer({
    command: [join(import.meta.dirname, 'collector.mjs'), String(port)],
    port,
  })
  bench.closeLater(collector.stop)
  const started = async (name: string, options: StartOptions) => {
    const server = await keyhold.startDealServer(options)
    bench.closeLater(server.stop)
    return [name, server] as const
  }
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` }
  const ratio = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' }
  return [
    await started('no traces', {}),
    ...(settings.formerBuild === undefined ? [] : [await started('the former build', { build: settings.formerBuild })]),
    await started('one trace in a hundred', { variables: { ...endpoint, ...ratio } }),
    await started('every request', { variables: endpoint }),
  ]
}
