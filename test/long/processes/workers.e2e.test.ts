/** Servers of several processes (docs/operations/watching.md#workers): both of them with two workers each. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, get, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../../shared/platform/clock.ts'
import type { Exchange } from '../../support/clients/http-client.ts'
import { askForNonce, digestCredential } from '../../support/clients/scheme-clients/digest.ts'
import { schemeClients } from '../../support/clients/scheme-clients/index.ts'
import type { SchemeClient } from '../../support/clients/scheme-clients/scheme-client.ts'
import { eventually } from '../../support/eventually.ts'
import { answering, type ChildServer, startChild } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { preparedKeysDir } from '../../support/processes/prepared-keys.ts'
import { type Backend, describePostgresAndRedis } from '../../support/stores/backends.ts'
import { logIn, passwordOf, type Stack, type TestServer, testServer } from '../../support/worlds/stack.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

interface Server extends TestServer {
  readonly child: ChildServer
}

let backend: Backend
let dataDir: string
let environment: Readonly<Record<string, string>>
let auth: Server
let deal: Server
let admin: string
const children: ChildServer[] = []

/** What clients of schemes need of a stack. */
const world = {
  clock: systemClock,
  get auth() {
    return auth
  },
  get deal() {
    return deal
  },
  logIn: (username: string, password = passwordOf(username)) => logIn(auth, username, password ?? ''),
} as unknown as Stack

const createUser = async (username: string) => {
  const json = { username, password: passwordOf(username), roles: ['agent'] }
  expect((await auth.send('/users', { token: admin, json })).status).toBe(201)
}

/** Like the client of Digest, with a secret that the server made: one nonce, counted up whichever worker is asked. */
const openDigest: SchemeClient['open'] = async (_world, username) => {
  const made = await auth.send(`/users/${username}/digest-secret`, { method: 'PUT', token: admin, json: {} })
  const [secret, nonce] = [String(made.body.secret), await askForNonce(deal.url)]
  let count = 0
  return async ({ method, url }) => {
    count += 1
    const uri = new URL(url).pathname
    return { url, headers: { authorization: digestCredential({ username, secret, nonce, method, uri, count }) } }
  }
}

/** Each request on a connection of its own: the supervisor gives them to the workers in turn. */
const onNewConnection: Exchange = (url, { method, headers, body }) =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject)
      answer.on('end', () => {
        const pairs = answer.rawHeaders.flatMap((name, at, all): [string, string][] =>
          at % 2 === 0 ? [[name, all[at + 1] ?? '']] : [],
        )
        const text = Buffer.concat(chunks).toString()
        resolve({ status: answer.statusCode ?? 0, headers: new Headers(pairs), text: async () => text })
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })

async function start(file: string, port: number, others: Readonly<Record<string, string>> = {}): Promise<Server> {
  const child = startChild(file, { environment: { ...environment, ...others } })
  children.push(child)
  const server = testServer(port, 'http', onNewConnection)
  await answering(`${server.url}/readyz`, child)
  return { ...server, child }
}

/** The process ids of the workers of a server. */
const workersOf = ({ child }: Server): number[] =>
  readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ').map(Number)

/** The numbers of the workers that wrote lines on answered requests. */
const answeredBy = ({ child }: Server): Set<number> =>
  new Set([...child.output().matchAll(/"worker":(\d+).*"status":200/g)].map(([, worker]) => Number(worker)))

/** Asks over and over, on new and on kept connections, until `stop`. Counts answers, and what was not answered. */
function askOnAndOn({ url }: TestServer, path: string, { clients = 4, untilRefused = false } = {}) {
  const tally = { answered: 0, failures: [] as string[] }
  let isOver = false
  const ask = (agent: Agent | false) =>
    new Promise<void>((resolve, reject) => {
      const sent = get(url + path, { agent, headers: { authorization: `Bearer ${admin}` } }, (answer) => {
        answer.on('error', reject).on('end', () => {
          if (answer.statusCode === 200) tally.answered += 1
          else tally.failures.push(`status ${answer.statusCode}`)
          resolve()
        })
        answer.resume()
      })
      sent.on('error', reject)
    })
  const client = async (agent: Agent | false) => {
    while (!isOver && tally.failures.length < 100) {
      try {
        await ask(agent)
        await sleep(2)
      } catch (error) {
        const isRefused = error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED'
        if (isRefused && untilRefused) break
        tally.failures.push(String(error))
      }
    }
    if (agent) agent.destroy()
  }
  const all = Array.from({ length: clients }, (_, index) =>
    // A system resets connections that it has accepted when a port is closed: at the end only kept ones count.
    client((untilRefused || index % 2 === 0) && new Agent({ keepAlive: true, maxSockets: 1 })),
  )
  const stop = async () => {
    isOver = true
    await Promise.all(all)
    return tally
  }
  return { tally, stop }
}

const metric = (text: string, name: string): number =>
  [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))].reduce(
    (sum, [, value]) => sum + Number(value),
    0,
  )

const metricsOf = async (server: TestServer) => (await server.send('/metrics')).text

describePostgresAndRedis('servers with two workers each', (openBackend) => {
  beforeAll(async () => {
    backend = await openBackend()
    dataDir = mkdtempSync(join(tmpdir(), 'keyhold-workers-'))
    const [authPort, dealPort] = [await freePort(), await freePort()]
    environment = {
      ...backend.environment,
      AUTH_PORT: String(authPort),
      DEAL_PORT: String(dealPort),
      DATA_DIR: dataDir,
      KEYS_DIR: await preparedKeysDir(),
      LOG_FORMAT: 'json',
      WORKERS: '2',
    }
    auth = await start('auth-server/main.ts', authPort)
    deal = await start('deal-server/main.ts', dealPort)
    const password = /password, shown only now: (\S+)/.exec(auth.child.output())?.[1]
    admin = (await logIn(auth, 'admin', password ?? '')).access
  })

  afterAll(async () => {
    for (const child of children.splice(0)) await child.end('SIGKILL')
    await backend.close()
    rmSync(dataDir, { recursive: true, force: true })
  })

  it('answers from each of them, and says in the log from which', async () => {
    for (let call = 0; call < 4; call += 1) {
      expect((await deal.send('/rest/v1/deals', { token: admin })).status).toBe(200)
      expect((await auth.send('/users', { token: admin })).status).toBe(200)
    }
    await eventually(() => {
      expect(answeredBy(deal).size).toBe(2)
      expect(answeredBy(auth).size).toBe(2)
    })
    expect(workersOf(auth)).toHaveLength(2)
    expect(workersOf(deal)).toHaveLength(2)
  })

  it.each(schemeClients.map((client) => [client.name, client] as const))(
    'takes the credential of one login at all workers, and refuses it at all within a second: %s',
    async (_scheme, client) => {
      const username = `user-${randomUUID().slice(0, 8)}`
      await createUser(username)
      const credential = await (client.name === 'digest' ? openDigest : client.open)(world, username)
      const read = async () => {
        const { url, headers } = await credential({ method: 'GET', url: `${deal.url}/rest/v1/deals` })
        return (await deal.send(url.slice(deal.url.length), { headers })).status
      }
      for (let call = 0; call < 6; call += 1) expect(await read()).toBe(200)
      const change = { method: 'PATCH', token: admin, json: { enabled: false } }
      expect((await auth.send(`/users/${username}`, change)).status).toBe(200)
      await sleep(1000)
      for (let call = 0; call < 4; call += 1) expect(await read()).toBe(401)
    },
  )

  it('writes one audit log, in which equal refusals are one entry of each worker', async () => {
    const wrong = { username: 'nobody-at-all', password: 'a wrong password' }
    await createUser('audited')
    const attempts = Array.from({ length: 6 }, () => auth.send('/login', { json: wrong }))
    for (const { status } of await Promise.all(attempts)) expect(status).toBe(401)
    for (let login = 0; login < 6; login += 1) await logIn(auth, 'audited', passwordOf('audited'))
    const { text } = await auth.send('/audit?order=desc&limit=20', { token: admin })
    const items: { seq: number; action: string; actor: string; outcome: string }[] = JSON.parse(text).items
    const [last] = items
    expect(items.map(({ seq }) => seq)).toEqual(items.map((_, index) => (last?.seq ?? 0) - index))
    expect(items.filter(({ actor, outcome }) => actor === 'audited' && outcome === 'succeeded')).toHaveLength(6)
    expect([1, 2]).toContain(items.filter(({ outcome }) => outcome === 'invalid-credentials').length)
  })

  it('lets a user have as many batches under way as one process does, with all workers together', async () => {
    const statuses: (number | undefined)[] = []
    const batches = Array.from({ length: 16 }, () => {
      const headers = { 'content-type': 'application/x-ndjson', authorization: `Bearer ${admin}` }
      const sent = request(`${deal.url}/commands`, { method: 'POST', headers, agent: false })
      sent.on('response', ({ statusCode }) => statuses.push(statusCode)).on('error', () => undefined)
      // Its body never ends.
      sent.write('\n')
      return sent
    })
    await eventually(() => expect(statuses).toEqual(Array(8).fill(429)))
    for (const sent of batches) sent.destroy()
  })

  it('shows what each worker counts in one reading of the metrics', async () => {
    const count = async (worker: number) => {
      const counted = new RegExp(`^keyhold_http_requests_total\\{worker="${worker}",.*route="/healthz".*$`, 'gm')
      return metric(((await metricsOf(deal)).match(counted) ?? []).join('\n'), 'keyhold_http_requests_total')
    }
    const before = [await count(1), await count(2)]
    for (let call = 0; call < 10; call += 1) await deal.send('/healthz')
    expect([await count(1), await count(2)]).toEqual(before.map((calls) => calls + 5))
    const text = await metricsOf(deal)
    for (const worker of [1, 2]) {
      expect(text).toContain(`keyhold_dependency_up{worker="${worker}",server="deal",dependency="database"} 1`)
      expect(text).toMatch(new RegExp(`^process_start_time_seconds\\{worker="${worker}"\\} \\d`, 'm'))
    }
    expect(text.match(/^# TYPE keyhold_http_requests_total /gm)).toHaveLength(1)
    const ofAuth = /^keyhold_principal_feed_age_seconds\{worker="[12]",server="auth"\} 0\.\d+$/gm
    expect((await metricsOf(auth)).match(ofAuth)).toHaveLength(2)
  })

  it('shows the same on METRICS_PORT', async () => {
    const [port, metricsPort] = [await freePort(), await freePort()]
    const others = { DEAL_PORT: String(port), METRICS_PORT: String(metricsPort) }
    const server = await start('deal-server/main.ts', port, others)
    const text = await metricsOf(testServer(metricsPort, 'http', onNewConnection))
    expect(text.match(/^keyhold_build_info\{worker="[12]",/gm)).toHaveLength(2)
    expect((await server.send('/metrics')).status).toBe(404)
    expect(await server.child.end('SIGTERM')).toBe(0)
  })

  it('follow a stream of the auth server each while Redis is away, and ask for no record that they know', async () => {
    const asked = () => auth.child.output().match(/"route":"\/internal\/principals/g)?.length ?? 0
    /** Where the feed of each worker comes from, as it said last. */
    const sources = () => {
      const said = deal.child.output().matchAll(/"worker":(\d+).*The change feed comes from (an auth server|Redis)/g)
      return [...new Map([...said].map(([, worker, source]) => [worker, source])).values()]
    }
    await createUser('streamed')
    const { access: token } = await world.logIn('streamed')
    const read = async () => (await deal.send('/rest/v1/deals', { token })).status
    await backend.redis?.kill()
    await eventually(() => expect(sources()).toEqual(['an auth server', 'an auth server']))
    for (let count = 0; count < 8; count += 1) expect(await read()).toBe(200)
    // A stream that a busy machine interrupts makes its worker ask once more.
    await eventually(async () => {
      const before = asked()
      for (let count = 0; count < 20; count += 1) {
        expect(await read()).toBe(200)
        await sleep(50)
      }
      expect(asked()).toBe(before)
    })
    const json = { enabled: false }
    expect((await auth.send('/users/streamed', { method: 'PATCH', token: admin, json })).status).toBe(200)
    // Connections go to the workers in turn.
    const refused = () => withinASecond(() => deal.send('/rest/v1/deals', { token }), { from: 200, to: 401 })
    await Promise.all([refused(), refused()])
    for (let count = 0; count < 4; count += 1) expect(await read()).toBe(401)
    await backend.redis?.start()
    await eventually(() => expect(sources()).toEqual(['Redis', 'Redis']))
  })

  it('replaces a worker that is killed under load, while the other one goes on', async () => {
    const load = askOnAndOn(deal, '/rest/v1/deals')
    await expect.poll(() => load.tally.answered).toBeGreaterThan(100)
    const [killed = 0] = workersOf(deal)
    process.kill(killed, 'SIGKILL')
    const { answered } = load.tally
    await eventually(() => {
      expect(workersOf(deal)).toHaveLength(2)
      expect(workersOf(deal)).not.toContain(killed)
      expect(load.tally.answered).toBeGreaterThan(answered + 100)
    })
    const { failures } = await load.stop()
    // Only what the killed worker was answering is lost.
    expect(failures.length).toBeLessThanOrEqual(4)
    // Its successor has its number, and begins to count.
    await eventually(async () => {
      expect((await metricsOf(deal)).match(/^keyhold_build_info\{worker="[12]",/gm)).toHaveLength(2)
    })
  })

  it('goes on with the same workers on SIGHUP, and opens no debugger on SIGUSR1', async () => {
    const former = workersOf(deal)
    const load = askOnAndOn(deal, '/rest/v1/deals')
    for (const pid of [deal.child.pid, ...former]) for (const signal of ['SIGHUP', 'SIGUSR1']) process.kill(pid, signal)
    const before = load.tally.answered
    await expect.poll(() => load.tally.answered - before).toBeGreaterThan(20)
    expect((await load.stop()).failures).toEqual([])
    expect(workersOf(deal)).toEqual(former)
    expect(deal.child.output()).toContain('SIGHUP: the workers read the certificate again')
    expect(deal.child.output()).not.toContain('Debugger listening')
  })

  it('replaces all workers one after the other on SIGUSR2, and loses no request', async () => {
    const replace = async (server: Server, path: string) => {
      const former = workersOf(server)
      const load = askOnAndOn(server, path)
      await expect.poll(() => load.tally.answered).toBeGreaterThan(50)
      process.kill(server.child.pid, 'SIGUSR2')
      const output = () => server.child.output().includes('All workers were replaced')
      await expect.poll(output).toBe(true)
      expect((await load.stop()).failures).toEqual([])
      expect(workersOf(server).filter((pid) => former.includes(pid))).toEqual([])
      expect(workersOf(server)).toHaveLength(2)
    }
    await Promise.all([replace(auth, '/users'), replace(deal, '/rest/v1/deals')])
  })

  it('answers every request that was on its way when it is told to end, and ends with 0', async () => {
    for (const [server, path] of [
      [deal, '/rest/v1/deals'],
      [auth, '/users'],
    ] as const) {
      const load = askOnAndOn(server, path, { untilRefused: true })
      await expect.poll(() => load.tally.answered).toBeGreaterThan(100)
      expect(await server.child.end('SIGTERM')).toBe(0)
      expect((await load.stop()).failures).toEqual([])
      expect(server.child.output()).not.toContain('did not close in order')
    }
  })

  it.each([
    ['auth-server/main.ts', 'KEY_BITS'],
    ['deal-server/main.ts', 'DEFAULT_CURRENCY'],
  ])('ends at once with a wrong setting, and says so once: %s', async (file, variable) => {
    const child = startChild(file, { environment: { ...environment, [variable]: '1' } })
    expect(await child.ended()).toBe(2)
    expect(child.output().match(new RegExp(`^ {2}${variable}: expected .+$`, 'gm'))).toHaveLength(1)
  })

  it.each([
    ['auth-server/main.ts', { REDIS_URL: 'none' }],
    ['deal-server/main.ts', { REDIS_URL: 'none' }],
    ['start.ts', {}],
  ])('refuses workers whose memory no service shares: %s', async (file, others) => {
    const child = startChild(file, { environment: { ...environment, ...others } })
    expect(await child.ended()).toBe(2)
    expect(child.output()).toMatch(/^These settings cannot be used:\n {2}WORKERS: must be 1 .+\n$/)
  })
})
