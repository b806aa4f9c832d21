import type { Comparison, Subject, Turn } from '../runner/compare.ts'
import { type Bench, cpuSince, cpuSoFar, floorFile, overHttp } from '../servers/bench.ts'
import { cpuOfEndedChildren } from '../servers/cpu-time.ts'
import { runPgbench } from '../servers/pgbench.ts'
import type { Running } from '../servers/processes.ts'
import { dealId, holdAndUnhold, request } from '../servers/requests.ts'

/** Compares HoldDeal and UnholdDeal in turn, each caller on its own deal, with one function for each commit. */
export async function holdDeals(bench: Bench): Promise<Comparison> {
  const { keyhold, bareHono, settings } = bench
  const holds = (
    name: string,
    server: Running,
    requestsOf: (deal: number, caller: number) => readonly string[],
  ): Subject => {
    const first = bench.newDeals(settings.callers)
    return overHttp(bench, { name, server, requestsOf: (caller) => requestsOf(first + caller, caller) })
  }
  const { deal: server, tokenOf } = keyhold
  return {
    title: `HoldDeal and UnholdDeal by ${settings.callers} callers`,
    unit: 'commits',
    floors: [
      holds('bare Hono, one function', bareHono, (deal) => bareHolds(deal, {})),
      holds('bare Hono, with the row of a command', bareHono, (deal) => bareHolds(deal, { 'Idempotency-Key': '{n}' })),
      pgbench(bench),
    ],
    subjects: [
      holds('Keyhold, Bearer', server, (deal, caller) => holdAndUnhold(deal, tokenOf(caller), { named: false })),
      holds('Keyhold, Bearer, with Idempotency-Key', server, (deal, caller) =>
        holdAndUnhold(deal, tokenOf(caller), { named: true }),
      ),
    ],
  }
}

/** The requests of the floor on one deal. */
function bareHolds(deal: number, headers: Readonly<Record<string, string>>): string[] {
  const line = (verb: string) => `PUT /deals/${dealId(deal)}/${verb}`
  const body = { reason: 'The customer asked for time' }
  return [
    request(line('hold'), { token: undefined, headers, body }),
    request(line('unhold'), { token: undefined, headers, body: {} }),
  ]
}

/** The same function by pgbench, without HTTP. A run of its script has two commits. */
function pgbench(bench: Bench): Subject {
  const { clients } = bench.settings
  const { url } = bench.environment.databases.floors
  const script = floorFile('hold-deal.pgbench.sql')
  const turn = async (seconds: number): Promise<Turn> => {
    const [before, ended] = [cpuSoFar(bench), cpuOfEndedChildren(process.pid)]
    const variables = { first: bench.newDeals(clients), n: 0 }
    const { runs, perSecond } = await runPgbench({ url, script, clients, seconds, variables })
    const load = (cpuOfEndedChildren(process.pid) - ended) / (2 * runs)
    return { perSecond: 2 * perSecond, cpu: { ...cpuSince(before, cpuSoFar(bench), 2 * runs), load } }
  }
  return { name: 'pgbench, with the row of a command', turn }
}
