import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { dealHousekeepingJobs } from '../../../deal-server/store/housekeeping.ts'
import { createHousekeeping } from '../../../shared/platform/database/housekeeping.ts'
import { createLog } from '../../../shared/platform/log/log.ts'
import { expectProblem, type Sent } from '../../support/clients/http-client.ts'
import { registerClient } from '../../support/clients/sign-in/applications.ts'
import { asApplication } from '../../support/clients/tool-calls.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'
import { withinASecond } from '../../support/worlds/within-a-second.ts'

const log = createLog({ level: 'silent', format: 'json' })
const daySeconds = 86_400

let stack: Stack
let token: string
let key: string

const ask = (path: string, sent: Sent = {}) => stack.deal.send(path, { token, ...sent })
const keyed = (path: string, sent: Sent) => ask(path, { ...sent, headers: { 'idempotency-key': key, ...sent.headers } })
const json = { name: 'deal123', price: 1234 }

const housekeeping = () => {
  const { database, clock } = stack
  return createHousekeeping({ database, clock, log, name: 'deals', jobs: dealHousekeepingJobs }, { batchSize: 2 })
}

/** Lets days pass and does what is due then. Tokens have expired meanwhile. */
const pass = async (days: number) => {
  stack.clock.advanceSeconds(days * daySeconds)
  // The server keeps house too.
  while (!(await housekeeping().runOnce())) await pause(20)
  token = (await stack.logIn('admin')).access
}

const count = async (table: 'deals' | 'tasks' | 'events', id: string) => {
  const column = table === 'deals' ? 'id' : 'deal_id'
  const text = `select count(*)::int as count from deals.${table} where ${column} = $1::text::uuid`
  const [row] = await stack.database.query<{ count: number }>(text, [id])
  return row?.count
}

const create = async (id: string = randomUUID()) => {
  const { status } = await ask('/rest/v1/deals', { json: { id, ...json } })
  expect(status).toBe(201)
  return { id, path: `/rest/v1/deals/${id}` }
}

/** A deal with a task that was deleted and purged. */
const purge = async () => {
  const deal = await create()
  expect((await ask(`${deal.path}/tasks`, { json: { title: 'call' } })).status).toBeLessThan(300)
  expect((await ask(deal.path, { method: 'DELETE' })).status).toBeLessThan(300)
  await pass(30)
  return deal
}

describeBackends('housekeeping of deals', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
  })
  afterAll(() => stack.close())
  beforeEach(async () => {
    key = `key-${randomUUID()}`
    token = (await stack.logIn('admin')).access
  })

  it('answers a late duplicate with 410, and never runs it', async () => {
    const first = await keyed('/rest/v1/deals', { json })
    expect(first.status).toBe(201)
    await pass(29)
    expect((await keyed('/rest/v1/deals', { json })).text).toBe(first.text)
    await pass(1)
    expectProblem(await keyed('/rest/v1/deals', { json }), 410, 'command-expired')
    expectProblem(await keyed('/rest/v1/deals', { json: { ...json, price: 1 } }), 422, 'command-id-reused')
    const resource = await ask(`/commands/${key}`)
    expect([resource.status, resource.body.state]).toEqual([200, 'expired'])
    const path = String(first.headers.get('location'))
    const list = await ask(`${path}/commands`)
    expect([list.status, list.text.includes('"expired"')]).toEqual([200, true])
  })

  it('removes what was deleted 30 days ago with its tasks, and nothing else', async () => {
    const [kept, restored] = [await create(), await create()]
    await ask(restored.path, { method: 'DELETE' })
    const purged = await create()
    await ask(`${purged.path}/tasks`, { json: { title: 'call' } })
    await ask(purged.path, { method: 'DELETE' })
    await pass(29)
    expect((await ask(`${restored.path}/restore`, { method: 'PUT', json: {} })).status).toBe(200)
    expect([await count('deals', purged.id), await count('tasks', purged.id)]).toEqual([1, 1])
    const later = await create()
    await ask(later.path, { method: 'DELETE' })
    await pass(1)
    expect([await count('deals', purged.id), await count('tasks', purged.id)]).toEqual([0, 0])
    expect(await count('events', purged.id)).toBe(3)
    for (const { id } of [kept, restored, later]) expect(await count('deals', id)).toBe(1)
    for (const { path } of [kept, restored]) expect((await ask(path)).status).toBe(200)
  })

  it('empties the events and commands of a purged deal of every name, reason and amount, and hides them', async () => {
    const id = randomUUID()
    const command = (action: string, params: object) => ({ method: 'PUT', json: { deal: id, action, params } })
    const [first, held, refused] = [randomUUID(), randomUUID(), randomUUID()]
    await ask(`/commands/${first}`, command('CreateDeal', { name: 'planted', price: 7654321 }))
    await ask(`/commands/${held}`, command('HoldDeal', { reason: 'planted' }))
    const change = { newPrice: 7654322, reason: 'planted' }
    expectProblem(await ask(`/commands/${refused}`, command('ChangePrice', change)), 409, 'deal-held')
    await ask(`/rest/v1/deals/${id}`, { method: 'DELETE' })
    const asBob = async (path: string) => stack.deal.send(path, { token: (await stack.logIn('bob')).access })
    const before = await ask(`/rest/v1/deals/${id}/history`)
    expect(before.text).toContain('planted')
    await pass(30)
    const left = await stack.database.query<{ text: string }>(
      `select string_agg(data::text, '') || (select string_agg(concat(c.params, c.outcome), '') from deals.commands c
        where c.deal_id = $1::text::uuid) as text from deals.events where deal_id = $1::text::uuid`,
      [id],
    )
    expect(left[0]?.text).not.toMatch(/planted|765432/)
    const history = await ask(`/rest/v1/deals/${id}/history`)
    type Item = { type: string; sequence: number; data: object }
    expect((history.body.items as Item[]).map(({ type, sequence, data }) => [type, sequence, data])).toEqual([
      ['deal.created', 1, {}],
      ['deal.held', 2, {}],
      ['deal.deleted', 3, {}],
    ])
    expect((await ask(`/rest/v1/deals/${id}/commands`)).status).toBe(200)
    expectProblem(await ask(`/commands/${held}`, command('HoldDeal', { reason: 'planted' })), 410, 'command-expired')
    for (const path of [`/rest/v1/deals/${id}/history`, `/rest/v1/deals/${id}/commands`, `/query/DealHistory/${id}`]) {
      expectProblem(await asBob(path), 404, 'not-found')
    }
  })

  it('leaves no reason of a rejection in the commands of a purged deal', async () => {
    const client = await registerClient(stack, { mode: 'propose', rights: ['deal.hold'] })
    const proposer = await asApplication(token, { client_id: client.id })
    const { id, path } = await create()
    const hold = () => stack.deal.send('/command/HoldDeal', { token: proposer, json: { id, reason: 'planted' } })
    const { proposal } = (await withinASecond(hold, { from: 200, to: 202 })).body as { proposal: { id: string } }
    await ask(path, { method: 'DELETE' })
    await pass(1)
    const rejected = await ask(`/proposals/${proposal.id}/reject`, { json: { reason: 'planted' } })
    expect(rejected.status, rejected.text).toBe(200)
    await pass(29)
    const left = await stack.database.query<{ text: string }>(
      `select concat(to_json(c), (select json_agg(p) from deals.proposals p)) as text from deals.commands c
        where deal_id = $1::text::uuid`,
      [id],
    )
    expect(left.map(({ text }) => text.includes('planted'))).toEqual([false])
  })

  it('never gives a purged id to a new deal', async () => {
    const { id, path } = await purge()
    const creations: [string, Sent][] = [
      ['/rest/v1/deals', { json: { id, ...json } }],
      ['/rest/v1/deals?validateOnly=true', { json: { id, ...json } }],
      ['/command/CreateDeal', { json: { id, ...json } }],
    ]
    for (const [target, sent] of creations) expectProblem(await ask(target, sent), 409, 'deal-exists')
    const first = await keyed('/rest/v1/deals', { json: { id, ...json } })
    expectProblem(first, 409, 'deal-exists')
    const again = await keyed('/rest/v1/deals', { json: { id, ...json } })
    expect([again.status, again.text]).toEqual([409, first.text])
    const sent = { json: { id, ...json }, headers: { 'if-none-match': '*' } }
    expectProblem(await ask('/rest/v1/deals', sent), 412, 'precondition-failed')
    expectProblem(await ask(path), 404, 'not-found')
    expectProblem(await ask(path, { method: 'PUT', json: { id, ...json } }), 422, 'incomplete-representation')
    for (const command of ['restore', 'hold', 'delete']) {
      const sent = { method: 'PUT', json: command === 'hold' ? { reason: 'test' } : {} }
      expectProblem(await ask(`${path}/${command}`, sent), 404, 'not-found')
    }
    for (const below of ['tasks', 'commands', 'history'])
      expect((await ask(`${path}/${below}`)).status).toBeLessThan(500)
  })

  it('does it once when several instances are at it', async () => {
    const ids: string[] = []
    for (let n = 0; n < 7; n += 1) {
      const { id, path } = await create()
      await ask(path, { method: 'DELETE' })
      ids.push(id)
    }
    stack.clock.advanceSeconds(30 * daySeconds)
    const instances = [housekeeping(), housekeeping(), housekeeping()]
    await Promise.all(instances.map((each) => each.runOnce()))
    const removed = instances.map((each) => each.removed().get('deleted deals') ?? 0)
    expect(removed.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(7)
    await pass(0)
    for (const id of ids) expect(await count('deals', id)).toBe(0)
  })
})
