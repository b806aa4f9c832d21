import type { OnRound } from '../runner/compare.ts'
import { rounded } from '../runner/figures.ts'
import { bareReads } from '../servers/bare-reads.ts'
import { type Bench, cyclesOf, type HttpWork } from '../servers/bench.ts'
import { residentBytes } from '../servers/cpu-time.ts'
import { refreshTokensOf } from '../servers/credentials.ts'
import { holdAndUnhold, readDeal, request } from '../servers/requests.ts'

/** Memory is measured after these parts of all requests: of a server that keeps nothing, the last ones are equal. */
const parts = [0, 0.1, 0.25, 0.5, 1]

/** Measures the resident memory of new servers under load. */
export async function measureMemory(bench: Bench, onRound: OnRound): Promise<string> {
  const { keyhold, settings, closeLater } = bench
  const [auth, deal] = [await keyhold.startAuthServer(), await keyhold.startDealServer()]
  for (const server of [auth, deal]) closeLater(server.stop)
  const first = bench.newDeals(settings.callers)
  const families = await refreshTokensOf(keyhold.authOrigin, keyhold.users)
  const { tokenOf } = keyhold
  const works: HttpWork[] = [
    { name: 'bare Hono: reads', server: bench.bareHono, requestsOf: bareReads(bench) },
    {
      name: 'deal server: reads and commands in turn',
      server: deal,
      requestsOf: (caller) => {
        const token = tokenOf(caller)
        const [hold = '', unhold = ''] = holdAndUnhold(first + caller, token, { named: false })
        const get = readDeal(first + caller, token)
        return [get, hold, get, unhold]
      },
    },
    {
      name: 'auth server: refreshes and GET /me in turn',
      server: auth,
      requestsOf: (caller) => [
        request('POST /refresh', { token: '{carried}' }),
        request('GET /me', { token: tokenOf(caller) }),
      ],
      carryOf: (caller) => ({ member: 'refresh_token', value: families[caller] ?? '' }),
    },
  ]
  const rows: string[] = []
  for (const [index, work] of works.entries()) {
    onRound(index, works.length)
    rows.push(`| ${work.name} | ${(await memoryUnder(bench, work)).join(' | ')} |`)
  }
  const counts = parts.map((part) => (part * settings.requests).toLocaleString('en'))
  return [
    '## Resident memory in MB, after so many requests',
    '',
    `| | ${counts.join(' | ')} |`,
    `|---${'|---:'.repeat(parts.length)}|`,
    ...rows,
    '',
  ].join('\n')
}

async function memoryUnder(bench: Bench, work: HttpWork): Promise<string[]> {
  const { load, settings } = bench
  await load.prepare(work.name, await cyclesOf(bench, work))
  const megabytes: string[] = []
  let sent = 0
  for (const part of parts) {
    while (sent < part * settings.requests) {
      sent += (await load.run({ name: work.name, seconds: settings.seconds, expected: '200' })).responses
    }
    megabytes.push(rounded(residentBytes(work.server.pid) / 1e6))
  }
  return megabytes
}
