import { hash, verify } from '@node-rs/argon2'
import { defaultHashParameters } from '../auth-server/passwords/password-hashing.ts'
import { systemClock as clock } from '../shared/platform/clock.ts'
import { type Bench, cyclesFor, httpTurn } from './bench.ts'
import { type Comparison, median, type Turn } from './compare.ts'
import { makeUsers } from './credentials.ts'
import type { LoadResult } from './load/generator.ts'
import { startLoad } from './load/load.ts'
import { dealPath, request } from './requests.ts'

/** The readers beside the logins: so few and so slow that they never wait for a processor without logins. */
const readers = { count: 4, pauseMs: 4 }

/** Compares a login with its password hash. */
export async function compareLogins(bench: Bench): Promise<Comparison> {
  const cycles = await loginCycles(bench, 'login')
  const { hashConcurrency } = bench.servers
  return {
    title: `POST /login by 32 users, ${hashConcurrency} hash(es) at once`,
    unit: 'logins',
    floor: { name: '@node-rs/argon2 verify, as many at once', turn: await rawVerify(hashConcurrency) },
    subjects: [{ name: 'logins', turn: (seconds) => httpTurn(bench, { cycles, expected: '200' }, seconds) }],
  }
}

/** Measures reads of the deal server while 32 users log in as fast as they can. Both servers run in this process. */
export async function measureReadsBesideLogins(
  bench: Bench,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<string> {
  const { servers, load } = bench
  const logins = startLoad()
  await logins.prepare(await loginCycles(bench, 'login-beside'))
  const get = (n: number) => request(`GET ${dealPath(n)}`, { token: servers.accessToken })
  const cycles = cyclesFor(readers.count, servers.port, (client) => [get(client)])
  await load.prepare(cycles.map((cycle) => ({ ...cycle, pauseMs: readers.pauseMs })))
  const read = () => load.run({ seconds, expected: '200' })
  const idle: LoadResult[] = []
  const busy: LoadResult[] = []
  const rates: number[] = []
  for (let round = 0; round <= rounds; round += 1) {
    const alone = await read()
    const [beside, { responses, seconds: took }] = await Promise.all([read(), logins.run({ seconds, expected: '200' })])
    if (round === 0) continue
    idle.push(alone)
    busy.push(beside)
    rates.push(responses / took)
  }
  logins.close()
  const ratio = (of: 'p50Ms' | 'p99Ms') =>
    median(busy.map((result, round) => result[of] / (idle[round]?.[of] ?? Number.NaN))).toFixed(2)
  return [
    `GET of one deal with a Bearer token, beside logins  (ms; median of ${rounds} rounds of ${seconds} s)`,
    line('without logins', idle),
    `${line(`${Math.round(median(rates))} logins/s`, busy)}  p50 × ${ratio('p50Ms')}, p99 × ${ratio('p99Ms')}`,
    '',
  ].join('\n')
}

function line(name: string, results: readonly LoadResult[]): string {
  const middle = (of: 'p50Ms' | 'p99Ms') => median(results.map((result) => result[of])).toFixed(2)
  return `  ${name.padEnd(42)}p50 ${middle('p50Ms')}  p99 ${middle('p99Ms')}`
}

/**
 * The logins: one user for each connection, because one account may have only ten attempts at once; and one address for
 * each connection, because one address may use only a tenth of the queue for hashing.
 */
async function loginCycles({ clients, servers }: Bench, prefix: string) {
  const { authOrigin, authPort } = servers
  const users = await makeUsers(authOrigin, { token: await servers.logIn(), prefix, count: clients })
  return cyclesFor(clients, authPort, (client) => {
    const headers = { 'X-Forwarded-For': `203.0.113.${client}`, 'X-Forwarded-Proto': 'https' }
    return [request('POST /login', { token: undefined, headers, body: users[client] })]
  })
}

async function rawVerify(concurrency: number): Promise<(seconds: number) => Promise<Turn>> {
  const { memoryKib, passes, lanes } = defaultHashParameters
  const password = 'correct horse battery staple'
  const stored = await hash(password, { memoryCost: memoryKib, timeCost: passes, parallelism: lanes })
  return async (seconds) => {
    const before = process.cpuUsage()
    const started = clock.monotonic()
    let done = 0
    const work = async () => {
      while (clock.monotonic() - started < seconds * 1000) {
        if (!(await verify(stored, password))) throw new Error('The password is not accepted.')
        done += 1
      }
    }
    await Promise.all(Array.from({ length: concurrency }, work))
    const { user, system } = process.cpuUsage(before)
    return { perSecond: (done * 1000) / (clock.monotonic() - started), cpuMicroseconds: (user + system) / done }
  }
}
