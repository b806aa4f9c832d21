import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OnRound } from '../runner/compare.ts'
import { functionsOf } from '../runner/cpu-profile.ts'
import { numbersOf } from '../servers/bare-reads.ts'
import { type Bench, cyclesOf, type HttpWork } from '../servers/bench.ts'
import { holdAndUnhold, readDeal } from '../servers/requests.ts'
import { loginsOf } from './logins.ts'
import { refreshesOf } from './refresh.ts'

/** Length of the load before the profile and during it, in seconds. */
const [warmUp, profiled] = [3, 5]

type Profiled = Omit<HttpWork, 'server'> & { readonly by: 'auth' | 'deal' }

/** Shows the functions in which the main threads of the servers spend most of their time. */
export async function measureProfiles(bench: Bench, onRound: OnRound): Promise<string> {
  const { keyhold, newDeals, settings } = bench
  const { tokenOf } = keyhold
  const numberOf = numbersOf(bench)
  const holds = (named: boolean) => {
    const first = newDeals(settings.callers)
    return (caller: number) => holdAndUnhold(first + caller, tokenOf(caller), { named })
  }
  const works: Profiled[] = [
    {
      name: 'GET of one deal, Bearer',
      by: 'deal',
      requestsOf: (caller) => [readDeal(numberOf(caller), tokenOf(caller))],
    },
    { name: 'HoldDeal and UnholdDeal', by: 'deal', requestsOf: holds(false) },
    { name: 'HoldDeal and UnholdDeal, with Idempotency-Key', by: 'deal', requestsOf: holds(true) },
    { name: 'POST /refresh', by: 'auth', ...(await refreshesOf(bench)) },
    { name: 'POST /login', by: 'auth', requestsOf: await loginsOf(bench, 'profile') },
  ]
  const tables: string[] = []
  for (const [index, work] of works.entries()) {
    onRound(index, works.length)
    tables.push(await profileOf(bench, work))
  }
  return tables.join('\n')
}

async function profileOf(bench: Bench, { by, name, ...work }: Profiled): Promise<string> {
  const { keyhold, load } = bench
  const folder = mkdtempSync(join(tmpdir(), 'keyhold-bench-profile-'))
  const nodeOptions = ['--cpu-prof', `--cpu-prof-dir=${folder}`]
  const started = performance.now()
  const server = await (by === 'auth' ? keyhold.startAuthServer : keyhold.startDealServer)({ nodeOptions })
  try {
    await load.prepare(name, await cyclesOf(bench, { server, ...work }))
    await load.run({ name, seconds: warmUp, expected: '200' })
    const from = performance.now() - started
    await load.run({ name, seconds: profiled, expected: '200' })
    const to = performance.now() - started
    await server.stop()
    const rows = functionsOf(folder, { fromMs: from, toMs: to }).map(
      ({ name: found, share }) => `| ${(100 * share).toFixed(1)} % | ${found} |`,
    )
    return [`## Profile: ${name}`, '', '| own time | function |', '|---:|---|', ...rows, ''].join('\n')
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
