import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Reply, Sent } from '../../support/clients/http-client.ts'
import { type Checker, createChecker, type Document } from '../../support/clients/openapi.ts'
import { describeEmbedded } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let checker: Checker
let alice: string
let id: string

/** Sends a request, expects this status, and that the answer is as the document says. */
async function ask(method: string, path: string, expected: { status: number } & Sent): Promise<Reply> {
  const { status, ...sent } = expected
  const reply = await stack.deal.send(path, { token: alice, ...sent, method })
  expect(reply.status, `${method} ${path}: ${reply.text}`).toBe(status)
  checker.expectDescribed(method, path.replace(/\?.*$/, ''), reply)
  return reply
}

const below = (segment = '') => `/rest/v1/deals/${id}${segment}`
const put = (path: string, json: unknown, status = 200) => ask('PUT', path, { json, status })
const post = (path: string, json: unknown, status = 200) => ask('POST', path, { json, status })
const get = (path: string, status = 200) => ask('GET', path, { status })

describeEmbedded('answers as the document of the deal server describes them', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    const document: Document = JSON.parse((await stack.deal.send('/openapi.json')).text)
    checker = createChecker(document)
    alice = (await stack.logIn('alice')).access
  })
  afterAll(() => stack.close())
  beforeEach(async () => {
    id = randomUUID()
    await post('/rest/v1/deals', { id, name: 'deal123', price: 12.5, completionDate: '2030-01-31' }, 201)
  })

  it('checks every member', () => {
    const reply = { status: 200, headers: new Headers({ 'content-type': 'application/json' }), body: {} }
    const check = (value: unknown) => () =>
      checker.expectDescribed('GET', below('/holded'), { ...reply, text: JSON.stringify(value) })
    const hold = { reason: 'r', since: '2026-01-01T00:00:00.000Z', by: 'alice' }
    expect(check(hold)).not.toThrow()
    expect(check({ ...hold, more: 1 })).toThrow()
    expect(check({ ...hold, by: undefined })).toThrow()
    expect(check({ ...hold, since: 'then' })).toThrow()
  })

  it('the resource', async () => {
    await get(below())
    await get(below('?expand=allowed'))
    await ask('GET', below(), { status: 304, headers: { 'if-none-match': '"1"' } })
    await get('/rest/v1/deals/?limit=3')
    await get('/rest/v1/deals?limit=0', 400)
    await post('/rest/v1/deals', { name: 'one more, for a second page', price: 1 }, 201)
    const page = await get('/rest/v1/deals?limit=1&sort=name&status=open')
    expect(page.headers.get('link')).toContain('rel="next"')
    await get(`/rest/v1/deals?sort=name&status=open&cursor=${page.body.nextCursor}`)
    await get(`/rest/v1/deals?cursor=${page.body.nextCursor}`, 400)
    await get(`/rest/v1/deals/${randomUUID()}`, 404)
    await post('/rest/v1/deals', { id, name: 'again', price: 1 }, 409)
    await ask('POST', '/rest/v1/deals', {
      status: 201,
      json: { name: 'a', price: 1 },
      headers: { prefer: 'return=minimal' },
    })
    await ask('DELETE', below(), { status: 204 })
    await get(below(), 404)
    await ask('DELETE', below('/deleted'), { status: 200 })
    const head = await stack.deal.send('/rest/v1/events', { token: alice, method: 'HEAD' })
    checker.expectDescribed('GET', '/rest/v1/events', { ...head, text: ':' })
    await get('/rest/v1/events?type=none', 400)
  })

  it('styles 1 and 2', async () => {
    await put(below('/hold'), { reason: 'later', reasonCode: 'wait' })
    await put(below('/holded'), { reason: 'later still' })
    await get(below('/holded'))
    await ask('GET', below('/holded'), { status: 304, headers: { 'if-none-match': '*' } })
    await ask('GET', below('/holded'), { status: 412, headers: { 'if-match': '"1"' } })
    await put(below('/hold?validateOnly=true'), {}, 400)
    await put(below('/price-changed'), { newPrice: 1, reason: 'r' }, 409)
    await ask('DELETE', below('/holded'), { status: 200 })
    await get(below('/holded'), 404)
    await post(below('/rename'), { newName: 'other' })
    await put(below('/change-price'), { newPrice: 10.75, reason: 'cheaper' })
    await put(below('/change-completion-date'), { newDate: null, penaltyAmount: 1.5, whyChanged: 'open end' })
    const taskId = randomUUID()
    await put(below('/add-task'), { taskId, title: 'call', dueDate: '2030-02-01', assigneeId: 'carol' })
    await put(below('/add-task'), { title: 'no id' }, 400)
    await post(below('/tasks'), { title: 'write' }, 201)
    await put(below('/complete'), {}, 409)
    await put(below('/task-completed'), { taskId, result: 'done' })
    await put(below('/complete-task'), { taskId: randomUUID() }, 404)
    await put(below('/complete'), { openTasks: 'drop', documentNumber: '7', comment: 'well' })
    await ask('DELETE', below(), { status: 409 })
    await put(below('/reopen'), { reason: 'not yet' })
    await put(below('/owner-assigned'), { employeeId: 'carol' })
    await put(below('/assign-owner'), { employeeId: 'nobody' }, 422)
    await put(below('/cancel'), { penaltyAmount: 2, reason: 'over' })
    await put(below('/hold?validateOnly=true'), { reason: 'x' }, 409)
    await put(below('/delete'), {}, 204)
  })

  it('styles 3 and 4', async () => {
    await put(below(), { action: 'HoldDeal', params: { reason: 'later' } })
    await put(below(), { action: 'NoDeal', params: {} }, 422)
    await put(below(), { action: 'HoldDeal', params: { reason: 'later' }, name: 'both' }, 400)
    const { body } = await put(below(), { action: 'UnholdDeal', params: {} })
    await put(below(), { ...body, name: 'renamed', held: true, holdReason: 'why' })
    await put(below(), { ...body, price: 1, version: undefined }, 422)
    await put(below(), { name: 'alone' }, 422)
    await put(below(), { ...body, name: 'stale' }, 412)
    await ask('PATCH', below(), { status: 200, json: { held: false } })
    await ask('PATCH', below(), { status: 204, json: { name: 'p' }, headers: { prefer: 'return=minimal' } })
    await put(below(), { action: 'DeleteDeal', params: {} }, 204)
  })

  it('styles 5 and 6', async () => {
    const [first, second] = [randomUUID(), randomUUID()]
    const action = { action: 'ChangePrice', params: { newPrice: 99, reason: 'r' } }
    await put(`/commands/${first}`, { deal: id, ...action }, 201)
    await put(`/commands/${first}`, { deal: id, ...action }, 201)
    await put(`/commands/${first}`, { deal: id, action: 'UnholdDeal', params: {} }, 422)
    await get(`/commands/${first}`)
    await get(`/commands/${randomUUID()}`, 404)
    await put(below('/commands/held'), { action: 'HoldDeal', params: { reason: 'r' } }, 201)
    await put(below(`/commands/${second}`), { action: 'CompleteDeal', params: {} }, 409)
    await put(below(`/commands/${second}`), { action: 'CompleteDeal', params: {} }, 409)
    await get(below(`/commands/${second}`))
    for (const list of ['/commands', '/history']) {
      await get(below(list))
      await get(below(`${list}?limit=1`))
      await get(below(`${list}?cursor=none`), 400)
    }
    await put(`/commands/${randomUUID()}`, { deal: randomUUID(), ...action }, 404)
  })

  it('style 7', async () => {
    await post('/command/HoldDeal/', { id, reason: 'r' })
    await post('/command/HoldDeal/', { id, reason: '' }, 422)
    await post('/command/HoldDeal/', { reason: 'r' }, 400)
    await post('/command/ChangePrice/', { deal: id, newPrice: 1, reason: 'r' }, 409)
    await post('/command/AddTask/', { id, title: 'call', assigneeId: 'alice' })
    await get(`/query/Deal/${id}`)
    await get('/query/Deals/held')
    await ask('GET', '/query/Deals/held', { status: 304, headers: { 'if-none-match': '*' } })
    await get('/query/Deals/none', 400)
    await get('/query/Deals/held?cursor=none', 400)
    await get(`/query/DealHistory/${id}?limit=1`)
    await get('/query/AssignedTask/alice')
    await get('/query/AssignedTask/bob', 404)
    await get(`/query/DealHistory/${id}`)
  })

  it('refusals before a use case', async () => {
    const bob = (await stack.logIn('bob')).access
    const json = { reason: 'r' }
    await ask('PUT', below('/hold'), { status: 403, json, token: bob })
    const path = below('/hold')
    for (const [status, sent] of [
      [401, {}],
      [401, { headers: { authorization: 'Bearer nonsense' } }],
      [401, { headers: { authorization: 'Other x' } }],
      [415, { body: 'a=b', token: alice }],
      [413, { body: 'x'.repeat(300_000), token: alice }],
    ] as const) {
      const reply = await stack.deal.send(path, { ...sent, method: 'PUT' })
      expect(reply.status).toBe(status)
      checker.expectDescribed('PUT', path, reply)
    }
    stack.clock.advanceSeconds(1801)
    await put(path, json, 400)
    alice = (await stack.logIn('alice')).access
  })

  it('routes without a caller', async () => {
    await get('/healthz')
    await get('/readyz')
    await get('/openapi.json')
    await get('/rest/openapi.json')
  })
})
