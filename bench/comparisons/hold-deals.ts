import type { Comparison, Subject, Turn } from '../runner/compare.ts'
import { type Bench, cpuSince, cpuSoFar, floorFile, overHttp } from '../servers/bench.ts'
import { cpuOfEndedChildren } from '../servers/cpu-time.ts'
import { runPgbench } from '../servers/pgbench.ts'
import { dealId, request } from '../servers/requests.ts'
import { holdsOf } from './works.ts'

/** Compares HoldDeal and UnholdDeal in turn, each caller on its own deal, with one function for each commit. */
export async function holdDeals(bench: Bench): Promise<Comparison> {
  const { keyhold, bareHono: server, settings } = bench
  const bare = (name: string, headers: Readonly<Record<string, string>>): Subject => {
    const first = bench.newDeals(settings.callers)
    return overHttp(bench, name, { server, requestsOf: (caller) => bareHolds(first + caller, headers) })
  }
  return {
    title: `HoldDeal and UnholdDeal by ${settings.callers} callers`,
    unit: 'commits',
    floors: [
      bare('bare Hono, one function', {}),
      bare('bare Hono, with the row of a command', { 'Idempotency-Key': '{n}' }),
      pgbench(bench),
    ],
    subjects: [
      overHttp(bench, 'Keyhold, Bearer', holdsOf(bench, keyhold, { named: false })),
      overHttp(bench, 'Keyhold, Bearer, with Idempotency-Key', holdsOf(bench, keyhold, { named: true })),
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
  const { url } = bench.environment.floors
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
