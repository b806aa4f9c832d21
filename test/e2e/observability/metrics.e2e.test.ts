import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createIdSource } from '../../../shared/platform/ids.ts'
import { createLog } from '../../../shared/platform/log/log.ts'
import { createMetrics } from '../../../shared/platform/metrics/metrics.ts'
import { listenForMetrics } from '../../../shared/platform/metrics/serve-metrics.ts'
import { projectVersion } from '../../../shared/platform/project-folder.ts'
import { sharedProblems } from '../../../shared/protocol/problems/both-servers.ts'
import { expectProblem, send } from '../../support/clients/http-client.ts'
import { signIn } from '../../support/clients/pages/sign-in.ts'
import { sendRaw } from '../../support/clients/raw-http.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { promtool, runPromtool } from '../../support/processes/promtool.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, passwordOf, type Stack, type TestServer } from '../../support/worlds/stack.ts'

/** A line of Prometheus's text format. */
const sample =
  /^(?<name>[a-zA-Z_:][\w:]*)(?:\{(?<labels>(?:\w+="[^"\\\n]*",?)*)\})? (?<value>-?[\d.]+(?:e[+-]?\d+)?|\+Inf|NaN|Nan)$/i

describeBackends('/metrics', (openBackend) => {
  let stack: Stack

  beforeAll(async () => {
    stack = await openStack(openBackend)
  })
  afterAll(() => stack.close())

  const read = async (server: TestServer): Promise<string> => {
    const { status, headers, text } = await server.send('/metrics')
    expect({ status, type: headers.get('content-type') }).toEqual({
      status: 200,
      type: 'text/plain; version=0.0.4; charset=utf-8',
    })
    return text
  }
  const readingOf = (text: string, series: string): number | undefined => {
    const line = text.split('\n').find((one) => one.startsWith(`${series} `))
    return line === undefined ? undefined : Number(line.slice(series.length + 1))
  }

  it('is text that Prometheus reads, on both servers', async () => {
    for (const server of [stack.auth, stack.deal]) {
      const lines = (await read(server)).trimEnd().split('\n')
      expect(lines.length).toBeGreaterThan(50)
      for (const line of lines.filter((one) => one !== '' && !one.startsWith('#'))) expect(line).toMatch(sample)
      const types = lines.filter((line) => line.startsWith('# TYPE ')).map((line) => line.split(' ')[2])
      expect(new Set(types).size).toBe(types.length)
    }
  })

  it('counts requests by route, and credentials by scheme and outcome', async () => {
    const { access: token } = await stack.logIn('alice')
    const before = await read(stack.deal)
    const accepted = 'keyhold_authentications_total{server="deal",scheme="bearer",outcome="accepted"}'
    await stack.deal.send('/rest/v1/deals', { token })
    await stack.deal.send('/rest/v1/deals', { token: `${token}x` })
    await stack.deal.send('/rest/v1/deals')
    const after = await read(stack.deal)
    expect((readingOf(after, accepted) ?? 0) - (readingOf(before, accepted) ?? 0)).toBe(1)
    const refused = (scheme: string, outcome: string) =>
      readingOf(after, `keyhold_authentications_total{server="deal",scheme="${scheme}",outcome="${outcome}"}`)
    expect(refused('bearer', 'invalid-token')).toBe(1)
    expect(refused('none', 'unauthenticated')).toBe(1)
    const ofRoute = after.match(
      /keyhold_http_requests_total\{server="deal",method="GET",route="\/rest\/v1\/deals",status="200"\} 1/,
    )
    expect(ofRoute).not.toBeNull()
  })

  it('has no label that a client could choose', async () => {
    const made = ['/made-up-1', '/rest/v1/deals/made-up-2', '/query/made-up-3/x', '/problems/made-up-4']
    for (const path of made) await stack.deal.send(path, { method: 'GET' })
    await stack.deal.send('/made-up-5', { method: 'PROPFIND' })
    await stack.auth.send('/login', { json: { username: 'made-up-6', password: 'made-up-7' } })
    for (const server of [stack.auth, stack.deal]) {
      const text = await read(server)
      expect(text).not.toContain('made-up')
      expect(text).not.toContain('PROPFIND')
    }
  })

  it('counts commands by use case and outcome', async () => {
    const { access: token } = await stack.logIn('alice')
    const count = async (useCase: string, outcome: string) =>
      readingOf(
        await read(stack.deal),
        `keyhold_commands_total{server="deal",use_case="${useCase}",outcome="${outcome}"}`,
      )
    const key = { 'idempotency-key': randomUUID() }
    const create = () => stack.deal.send('/rest/v1/deals', { token, json: { name: 'n', price: 1 }, headers: key })
    const path = `/rest/v1/deals/${String((await create()).headers.get('location')).slice(-36)}`
    await create()
    const hold = (query = '') =>
      stack.deal.send(`${path}/hold${query}`, { token, method: 'PUT', json: { reason: 'r' } })
    expect((await hold('?validateOnly=true')).status).toBe(200)
    expect((await hold()).status).toBe(200)
    expect((await hold()).status).toBe(200)
    expect((await stack.deal.send(`${path}/complete`, { token, method: 'PUT', json: {} })).status).toBe(409)
    expect(await count('CreateDeal', 'succeeded')).toBe(1)
    expect(await count('CreateDeal', 'replayed')).toBe(1)
    expect(await count('HoldDeal', 'dry-run')).toBe(1)
    expect(await count('HoldDeal', 'succeeded')).toBe(1)
    expect(await count('HoldDeal', 'unchanged')).toBe(1)
    expect(await count('CompleteDeal', 'deal-held')).toBe(1)
  })

  it('counts logins by what they issue and by outcome', async () => {
    const before = await read(stack.auth)
    const password = 'a wrong password'
    await stack.logIn('bob')
    await signIn(stack, 'bob')
    await stack.auth.send('/key-signed-tokens', { json: { username: 'bob', password: passwordOf('bob') } })
    for (const path of ['/login', '/sessions', '/key-signed-tokens'])
      await stack.auth.send(path, { json: { username: 'bob', password } })
    const after = await read(stack.auth)
    const more = (kind: string, outcome: string) => {
      const series = `keyhold_logins_total{server="auth",kind="${kind}",outcome="${outcome}"}`
      return (readingOf(after, series) ?? 0) - (readingOf(before, series) ?? 0)
    }
    for (const kind of ['tokens', 'session', 'key-signed-token'])
      expect([kind, more(kind, 'succeeded'), more(kind, 'invalid-credentials')]).toEqual([kind, 1, 1])
  })

  it('tells which build runs, and when the next step of each key is due', async () => {
    const auth = await read(stack.auth)
    for (const [server, text] of [['auth', auth] as const, ['deal', await read(stack.deal)] as const]) {
      const [version, node] = [projectVersion(), process.versions.node]
      const series = `keyhold_build_info{server="${server}",version="${version}",node="${node}"}`
      expect(readingOf(text, series)).toBe(1)
    }
    const due = readingOf(auth, 'keyhold_key_step_due_timestamp_seconds{server="auth",use="jwt",step="generate"}')
    const age = readingOf(auth, 'keyhold_active_key_age_seconds{server="auth",use="jwt"}')
    expect((due ?? 0) - stack.clock.now() / 1000 + (age ?? 0)).toBeCloseTo(30 * 86_400, -2)
  })

  // All tests above were the traffic.
  it.skipIf(promtool === undefined)('is text in which promtool finds nothing to say', async () => {
    for (const server of [stack.auth, stack.deal]) {
      const text = await read(server)
      expect(text.match(/^# HELP /gm)?.length).toBeGreaterThan(20)
      expect(runPromtool(['check', 'metrics'], text)).toEqual({ said: '', exitCode: 0 })
    }
  })

  it('tells how keys, feed, hashing and dependencies are', async () => {
    const auth = await read(stack.auth)
    expect(readingOf(auth, 'keyhold_keys{server="auth",use="jwt",state="active"}')).toBe(1)
    expect(readingOf(auth, 'keyhold_key_ring_problem{server="auth"}')).toBe(0)
    expect(readingOf(auth, 'keyhold_dependency_up{server="auth",dependency="database"}')).toBe(1)
    expect(readingOf(auth, 'keyhold_password_hashes{server="auth",state="waiting"}')).toBe(0)
    expect(readingOf(auth, 'keyhold_audit_entries{server="auth"}')).toBeGreaterThan(0)
    const deal = await read(stack.deal)
    expect(readingOf(deal, 'keyhold_held_keys{server="deal",use="jwt"}')).toBeGreaterThan(0)
    expect(readingOf(deal, 'keyhold_held_keys_age_seconds{server="deal",use="jwt"}')).toBeLessThan(60)
    // Infinite until the deal server has heard its first heartbeat, which may be after its start.
    const feedAge = async () => readingOf(await read(stack.deal), 'keyhold_principal_feed_age_seconds{server="deal"}')
    await expect.poll(feedAge).toBeLessThan(5)
    expect(readingOf(deal, 'keyhold_event_streams{server="deal"}')).toBe(0)
  })

  it('moves to a listener of its own', async () => {
    const port = await freePort()
    const log = createLog({ level: 'silent', format: 'json' })
    const place = {
      host: '127.0.0.1',
      port,
      origin: stack.auth.url,
      publicOrigins: {},
      problems: sharedProblems,
      clock: stack.clock,
      log,
    }
    const end = await listenForMetrics(createMetrics(), { ...place, ids: createIdSource(stack.clock) })
    const own = await send(`http://127.0.0.1:${port}/metrics`)
    expect(own.status).toBe(200)
    expect(own.text).toContain('process_cpu_seconds_total')
    const unknown = await send(`http://127.0.0.1:${port}/`)
    expectProblem(unknown, 404, 'not-found')
    const malformed = await sendRaw(port, 'hello\r\n\r\n')
    for (const reply of [own, unknown, malformed]) expect(reply?.headers.get('x-content-type-options')).toBe('nosniff')
    await end()
    const elsewhere = await openStack(openBackend, { environment: { METRICS_PORT: String(await freePort()) } })
    const statuses = [elsewhere.auth, elsewhere.deal].map(async (server) => (await server.send('/metrics')).status)
    expect(await Promise.all(statuses)).toEqual([404, 404])
    await elsewhere.close()
  })
})
