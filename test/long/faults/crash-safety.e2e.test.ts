import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Reply } from '../../support/clients/http-client.ts'
import { answering, type ChildServer, startChild } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { type HoldingProxy, startHoldingProxy } from '../../support/processes/proxies/holding-proxy.ts'
import { describePostgresAndRedis, type OpenBackend } from '../../support/stores/backends.ts'
import { describeCitus } from '../../support/stores/citus.ts'
import { openStack, type Stack, type TestServer, testServer } from '../../support/worlds/stack.ts'

let stack: Stack
let alice: string
let proxy: HoldingProxy
let key: string
const children: ChildServer[] = []

/** A deal server of the stack in a process of its own, on the database at this port. */
const startDealServer = async (databasePort?: number): Promise<{ child: ChildServer; server: TestServer }> => {
  const port = await freePort()
  const url = new URL(stack.environment.DEAL_DATABASE_URL ?? '')
  if (databasePort !== undefined) url.port = String(databasePort)
  const own = { DEAL_PORT: String(port), DEAL_DATABASE_URL: url.href, LOG_FORMAT: 'json' }
  const child = startChild('deal-server/main.ts', { environment: { ...stack.environment, ...own } })
  children.push(child)
  const server = testServer(port)
  await answering(`${server.url}/readyz`, child)
  return { child, server }
}

const create = async (): Promise<string> => {
  const { headers } = await stack.deal.send('/rest/v1/deals', { token: alice, json: { name: 'deal123', price: 1234 } })
  return String(headers.get('location'))
}

const hold = (server: TestServer, path: string): Promise<Reply> => {
  const headers = { 'idempotency-key': key }
  return server.send(`${path}/hold`, { method: 'PUT', token: alice, json: { reason: 'test' }, headers })
}

const post = (server: TestServer): Promise<Reply> => {
  const headers = { 'idempotency-key': key }
  return server.send('/rest/v1/deals', { token: alice, json: { name: 'deal123', price: 1234 }, headers })
}

/** The events of this key, as PostgreSQL has them. */
const events = () =>
  stack.database.query<{ type: string; dealId: string }>(
    'select type, deal_id as "dealId" from deals.events where command_id = $1',
    [key],
  )

/** What stands in the message of a commit and in no other. */
const commitMark = '"expected_version"'

const describeKills = (openBackend: OpenBackend): void => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    alice = (await stack.logIn('alice')).access
  })
  afterAll(() => stack.close())
  beforeEach(async () => {
    key = `key-${randomUUID()}`
    proxy = await startHoldingProxy(Number(new URL(stack.environment.DEAL_DATABASE_URL ?? '').port))
  })
  afterEach(async () => {
    for (const child of children.splice(0)) await child.end('SIGKILL')
    await proxy.close()
  })

  /** The server dies after the commit, before its answer; the retry must find what was done. */
  const killAfterCommit = async (send: (server: TestServer) => Promise<Reply>): Promise<Reply> => {
    const { child, server } = await startDealServer(proxy.port)
    proxy.holdAnswersAfter(commitMark)
    const lost = send(server).then(
      (reply) => `answered ${reply.status}`,
      () => 'no answer',
    )
    await proxy.triggered
    // Still: it would answer 503 after a second without an answer of its own.
    process.kill(child.pid, 'SIGSTOP')
    await expect.poll(async () => (await events()).length).toBe(1)
    expect(await child.end('SIGKILL')).toBeNull()
    expect(await lost).toBe('no answer')
    const retry = await send((await startDealServer()).server)
    expect(retry.headers.get('idempotent-replayed')).toBe('true')
    return retry
  }

  it('between the commit of a hold and its answer: the retry replays it, it has happened once', async () => {
    const path = await create()
    const retry = await killAfterCommit((server) => hold(server, path))
    expect({ status: retry.status, changed: retry.headers.get('deal-changed') }).toEqual({
      status: 200,
      changed: 'true',
    })
    expect(retry.body).toMatchObject({ version: 2, held: true, holdReason: 'test' })
    expect(await events()).toEqual([{ type: 'deal.held', dealId: path.slice(-36) }])
    expect((await stack.deal.send(path, { token: alice })).text).toBe(retry.text)
  })

  it('between the commit of a creation and its answer: the retry names the one deal there is', async () => {
    const retry = await killAfterCommit(post)
    expect(retry.status).toBe(201)
    expect(await events()).toEqual([{ type: 'deal.created', dealId: retry.body.id }])
    expect((await stack.deal.send(String(retry.headers.get('location')), { token: alice })).text).toBe(retry.text)
  })

  it('before the commit reaches PostgreSQL: nothing has happened, and the retry does it once', async () => {
    const path = await create()
    const { child, server } = await startDealServer(proxy.port)
    proxy.swallowFrom(commitMark)
    const lost = hold(server, path).then(
      (reply) => `answered ${reply.status}`,
      () => 'no answer',
    )
    await proxy.triggered
    expect(await child.end('SIGKILL')).toBeNull()
    expect(await lost).toBe('no answer')
    expect(await events()).toEqual([])
    expect((await stack.deal.send(path, { token: alice })).body.version).toBe(1)
    const { server: next } = await startDealServer()
    const retry = await hold(next, path)
    expect({ status: retry.status, replayed: retry.headers.get('idempotent-replayed') }).toEqual({
      status: 200,
      replayed: null,
    })
    expect((await hold(next, path)).headers.get('idempotent-replayed')).toBe('true')
    expect(await events()).toEqual([{ type: 'deal.held', dealId: path.slice(-36) }])
  })

  it('SIGTERM instead: it takes no new connection, gives the answer under way, and exits with 0', async () => {
    const path = await create()
    const { child, server } = await startDealServer(proxy.port)
    proxy.holdAnswersAfter(commitMark)
    const underWay = hold(server, path)
    await proxy.triggered
    const exit = child.end('SIGTERM')
    await expect.poll(() => server.send('/healthz').catch(() => 'refused')).toBe('refused')
    proxy.release()
    const reply = await underWay
    expect({ status: reply.status, version: reply.body.version }).toEqual({ status: 200, version: 2 })
    expect(await exit).toBe(0)
    expect((await events()).length).toBe(1)
  })
}

describePostgresAndRedis('a deal server that is killed', describeKills)
describeCitus('a deal server that is killed', describeKills)
