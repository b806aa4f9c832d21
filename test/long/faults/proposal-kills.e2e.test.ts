/** A deal server is killed while applications propose and people decide: each command runs once, or never. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { campaign } from '../../support/campaign.ts'
import type { Reply } from '../../support/clients/http-client.ts'
import { registerClient } from '../../support/clients/sign-in/applications.ts'
import { asApplication } from '../../support/clients/tool-calls.ts'
import { answering, startChild } from '../../support/processes/child-server.ts'
import { freePort } from '../../support/processes/free-port.ts'
import { describePostgresAndRedis, type OpenBackend } from '../../support/stores/backends.ts'
import { describeCitus } from '../../support/stores/citus.ts'
import { openStack, type Stack, type TestServer, testServer } from '../../support/worlds/stack.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

const kills = campaign({ short: 8, long: 100 })
/** Proposals of which something is under way when the server is killed. */
const atOnce = 12

const describeKills = (openBackend: OpenBackend): void => {
  let stack: Stack
  let [proposer, alice, admin] = ['', '', '']
  let server: TestServer

  beforeAll(async () => {
    stack = await openStack(openBackend)
    const client = await registerClient(stack, { mode: 'propose', rights: ['deal.task.add', 'deal.create'] })
    alice = (await stack.logIn('alice')).access
    admin = (await stack.logIn('admin')).access
    proposer = await asApplication(alice, { client_id: client.id })
    const ask = () => stack.deal.send('/command/CreateDeal', { token: proposer, json: { name: 'deal', price: 1 } })
    await withinASecond(ask, { from: 200, to: 202 })
  })
  afterAll(() => stack.close())

  const start = async () => {
    const port = await freePort()
    const environment = { ...stack.environment, DEAL_PORT: String(port), LOG_FORMAT: 'json' }
    const child = startChild('deal-server/main.ts', { environment })
    server = testServer(port)
    await answering(`${server.url}/readyz`, child)
    return child
  }

  /** Sends until a server answers. */
  const persist = async (send: () => Promise<Reply>): Promise<Reply> => {
    for (;;) {
      const reply = await send().catch((error: unknown) => {
        if (!(error instanceof TypeError)) throw error
      })
      if (reply && reply.status < 500) return reply
      await pause(20)
    }
  }

  /** From the proposal to its decisions, of which two come at once. */
  const decideOne = async (dealId: string, turn: number) => {
    const json = { id: dealId, title: 'once' }
    const headers = { 'idempotency-key': `key-${dealId}` }
    const propose = () => server.send('/command/AddTask', { token: proposer, json, headers })
    const { status, headers: found, text } = await persist(propose)
    expect(status, text).toBe(202)
    const path = String(found.get('location'))
    const decide = (verb: string, body: object) => () =>
      server.send(`${path}/${verb}`, { method: 'POST', token: admin, json: body })
    const decisions = [decide('approve', {}), ...(turn % 2 ? [decide('reject', { reason: 'no' })] : [])]
    const replies = await Promise.all([...decisions, decide('approve', {})].map(persist))
    for (const reply of replies) expect([200, 409], reply.text).toContain(reply.status)
    const { state } = (await persist(() => server.send(path, { token: admin }))).body
    expect(replies.some((reply) => reply.status === 200 && reply.body.state === state)).toBe(true)
    return { dealId, state, again: await persist(propose) }
  }

  it(`${kills} times`, { timeout: 3_600_000 }, async () => {
    const decided = []
    let child = await start()
    for (let round = 0; round < kills; round += 1) {
      const deals = Array.from({ length: atOnce }, () => randomUUID())
      for (const id of deals)
        expect(
          (await stack.deal.send('/rest/v1/deals', { token: alice, json: { id, name: 'deal', price: 1 } })).status,
        ).toBe(201)
      const work = Promise.all(deals.map(decideOne))
      await pause(Math.random() * 150)
      await child.end('SIGKILL')
      child = await start()
      decided.push(...(await work))
    }
    await child.end('SIGKILL')
    for (const { dealId, state, again } of decided) {
      const found = await stack.database.query<{ type: string }>(
        'select type from deals.events where deal_id = $1 order by sequence',
        [dealId],
      )
      const isApproved = state === 'approved'
      const after = isApproved ? ['deal.task-added', 'proposal.approved'] : ['proposal.rejected']
      expect(found.map(({ type }) => type)).toEqual(['deal.created', 'proposal.made', ...after])
      expect(again.status).toBe(isApproved ? 200 : 409)
    }
    expect(new Set(decided.map(({ state }) => state))).toEqual(new Set(['approved', 'rejected']))
  })
}

describePostgresAndRedis('proposals of a deal server that is killed', describeKills)
describeCitus('proposals of a deal server that is killed', describeKills)
