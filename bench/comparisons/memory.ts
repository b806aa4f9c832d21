import type { OnRound } from '../runner/compare.ts'
import type { Row, Table } from '../runner/table.ts'
import { bareReads } from '../servers/bare-reads.ts'
import { type Bench, cyclesOf, type HttpWork } from '../servers/bench.ts'
import { residentBytes } from '../servers/cpu-time.ts'
import { refreshTokensOf } from '../servers/credentials.ts'
import { holdAndUnhold, readDeal, request } from '../servers/requests.ts'

/** Memory is measured after these parts of all requests: of a server that keeps nothing, the last ones are equal. */
const parts = [0, 0.1, 0.25, 0.5, 1]

/** Measures the resident memory of new servers under load. */
export async function measureMemory(bench: Bench, onRound: OnRound): Promise<Table> {
  const { keyhold, settings, closeLater } = bench
  const [auth, deal] = [await keyhold.startAuthServer(), await keyhold.startDealServer()]
  for (const server of [auth, deal]) closeLater(server.stop)
  const first = bench.newDeals(settings.callers)
  const families = await refreshTokensOf(keyhold.authOrigin, keyhold.users)
  const { tokenOf } = keyhold
  const works: Readonly<Record<string, HttpWork>> = {
    'bare Hono: reads': { server: bench.bareHono, requestsOf: bareReads(bench) },
    'deal server: reads and commands in turn': {
      server: deal,
      requestsOf: (caller) => {
        const token = tokenOf(caller)
        const [hold = '', unhold = ''] = holdAndUnhold(first + caller, token, { named: false })
        const get = readDeal(first + caller, token)
        return [get, hold, get, unhold]
      },
    },
    'auth server: refreshes and GET /me in turn': {
      server: auth,
      requestsOf: (caller) => [
        request('POST /refresh', { token: '{carried}' }),
        request('GET /me', { token: tokenOf(caller) }),
      ],
      carryOf: (caller) => ({ member: 'refresh_token', value: families[caller] ?? '' }),
    },
  }
  const rows: Row[] = []
  for (const [subject, work] of Object.entries(works)) {
    onRound(rows.length, 3)
    rows.push({ subject, figures: await memoryUnder(bench, subject, work) })
  }
  return { title: 'Resident memory', caption: 'MB after this number of requests', rows }
}

async function memoryUnder(bench: Bench, name: string, work: HttpWork): Promise<Record<string, number>> {
  const { load, settings } = bench
  await load.prepare(name, await cyclesOf(bench, work))
  const megabytes: Record<string, number> = {}
  let sent = 0
  for (const part of parts) {
    const count = part * settings.requests
    while (sent < count) sent += (await load.run({ name, seconds: settings.seconds, expected: '200' })).responses
    megabytes[`after ${count.toLocaleString('en')}`] = residentBytes(work.server.pid) / 1e6
  }
  return megabytes
}
