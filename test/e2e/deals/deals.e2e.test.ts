import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, type Reply, type Sent } from '../../support/clients/http-client.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let alice: string

const ask = (path: string, sent: Sent = {}) => stack.deal.send(path, { token: alice, ...sent })
const post = (json: unknown, headers: Sent['headers'] = {}) => ask('/rest/v1/deals/', { json, headers })
const put = (path: string, json: unknown, headers: Sent['headers'] = {}) => ask(path, { method: 'PUT', json, headers })
const remove = (path: string, headers: Sent['headers'] = {}) => ask(path, { method: 'DELETE', headers })

/** A new deal's path. */
const create = async (more: object = {}): Promise<string> => {
  const { status, headers } = await post({ name: 'deal123', price: 1234, ...more })
  expect(status).toBe(201)
  return String(headers.get('location'))
}

const expectDeal = (
  { status, headers, body }: Reply,
  expected: { status: number; version: number; changed?: boolean },
) => {
  expect({ status, version: body.version, etag: headers.get('etag') }).toEqual({
    status: expected.status,
    version: expected.version,
    etag: `"${expected.version}"`,
  })
  expect(headers.get('deal-changed')).toBe(expected.changed === undefined ? null : String(expected.changed))
  expect(headers.get('content-type')).toBe('application/json')
  expect(headers.get('cache-control')).toBe('private, no-cache')
  expect(headers.get('vary')).toBe('Authorization, Cookie, Origin')
}

const eventsOf = (path: string) =>
  stack.database.query<{ sequence: number; dealVersion: number; type: string; data: unknown }>(
    `select sequence, deal_version as "dealVersion", type, data from deals.events where deal_id = $1::text::uuid
     order by sequence`,
    [path.slice(-36)],
  )

describeBackends('deals', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend)
    alice = (await stack.logIn('alice')).access
  })
  afterAll(() => stack.close())

  it('holds a deal by a PUT of its id, name, price, held and holdReason, and leaves absent members unchanged', async () => {
    const path = await create({ completionDate: '2030-06-30' })
    const five = { id: path.slice(-36), name: 'deal123', price: 1234, held: true, holdReason: 'test' }
    const reply = await put(path, five)
    expectDeal(reply, { status: 200, version: 2, changed: true })
    expect(reply.headers.get('deal-use-cases')).toBe('HoldDeal')
    expect(reply.body).toMatchObject({ ...five, completionDate: '2030-06-30', ownerId: 'alice', status: 'open' })
    const { holdReason: _left, ...four } = five
    expectDeal(await put(path, four), { status: 200, version: 2, changed: false })
    expectDeal(await put(path, { name: 'deal123', price: 1234, held: false }), {
      status: 200,
      version: 3,
      changed: true,
    })
  })

  it('takes the names of commands with UseCase appended, and never answers with such a name', async () => {
    const path = await create()
    const id = path.slice(-36)
    const action = { action: 'HoldDealUseCase', params: { reason: 'by another name' } }
    expectDeal(await put(path, action), { status: 200, version: 2, changed: true })
    const command = await put(`${path}/commands/${id}`, {
      ...action,
      params: { reason: 'in the commands of the deal' },
    })
    expect([command.status, command.body.action]).toEqual([201, 'HoldDeal'])
    const globally = { deal: id, action: 'UnholdDealUseCase', params: {} }
    expect((await put(`/commands/${randomUUID()}`, globally)).body).toMatchObject({
      action: 'UnholdDeal',
      state: 'succeeded',
    })
    expect((await ask('/command/HoldDealUseCase/', { json: { id, reason: 'by the controller' } })).status).toBe(200)
    const history = await ask(`${path}/history`)
    expect(history.text).not.toContain('UseCase"')
    expectProblem(await put(path, { action: 'UseCase', params: {} }), 422, 'invalid-value')
  })

  it('answers a command of the controller with 200 and a body of no octets, not with chunks', async () => {
    const id = (await create()).slice(-36)
    const { status, text, headers } = await ask('/command/HoldDeal/', { json: { id, reason: 'test' } })
    expect({ status, text }).toEqual({ status: 200, text: '' })
    expect(headers.get('content-length')).toBe('0')
    expect(headers.get('transfer-encoding')).toBeNull()
  })

  it('creates a deal just so, reads it back and holds it just so', async () => {
    const headers = { 'content-type': 'application/json' }
    const created = await ask('/rest/v1/deals/', { body: '{"name":"deal123","price":1234}', headers })
    expectDeal(created, { status: 201, version: 1, changed: true })
    expect(created.body).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      name: 'deal123',
      price: 1234,
      currency: 'EUR',
      priceText: '1234.00',
      ownerId: 'alice',
      status: 'open',
      held: false,
      holdReason: null,
      createdBy: 'alice',
      updatedAt: created.body.createdAt,
    })
    const path = `/rest/v1/deals/${created.body.id}`
    expect(created.headers.get('location')).toBe(path)
    const read = await ask(path)
    expectDeal(read, { status: 200, version: 1 })
    expect(read.text).toBe(created.text)

    const held = await ask(`${path}/hold`, { method: 'PUT', body: '{"reason":"test"}', headers })
    expectDeal(held, { status: 200, version: 2, changed: true })
    expect(held.body).toMatchObject({ held: true, holdReason: 'test', heldBy: 'alice', status: 'open' })
    expect((await ask(path)).text).toBe(held.text)
  })

  it('keeps what the creator chose, normalised: id, currency, date, owner, description', async () => {
    const id = randomUUID()
    const chosen = {
      currency: 'KWD',
      price: '12.345',
      completionDate: '2031-02-28',
      ownerId: 'CAROL',
      description: ' x ',
    }
    const { status, body } = await post({ id: id.toUpperCase(), name: '  Cafe\u0301  ', ...chosen })
    expect(status).toBe(201)
    expect(body).toMatchObject({ id, name: 'Caf\u00e9', price: 12.345, priceText: '12.345', currency: 'KWD' })
    expect(body).toMatchObject({ completionDate: '2031-02-28', ownerId: 'carol', description: 'x', createdBy: 'alice' })
    expect((await ask(`/rest/v1/deals/${id.toUpperCase()}`)).body.id).toBe(id)
  })

  it('tells why, since when and by whom a deal is held, with the code if there is one', async () => {
    const path = await create()
    expectProblem(await ask(`${path}/holded`), 404, 'not-found')
    const { body } = await put(`${path}/holded`, { reason: 'one' })
    expect((await ask(`${path}/holded`)).body).toEqual({ reason: 'one', since: body.heldAt, by: 'alice' })
    await put(`${path}/holded`, { reason: 'one', reasonCode: 'why' })
    expect((await ask(`${path}/holded`)).body).toMatchObject({ reason: 'one', reasonCode: 'why' })
  })

  it('creates with PUT below an id that the client chose, and takes the id in the body too', async () => {
    const path = `/rest/v1/deals/${randomUUID()}`
    const created = await put(`${path}/create`, { name: 'deal123', price: 1 })
    expectDeal(created, { status: 201, version: 1, changed: true })
    expect(created.headers.get('location')).toBe(path)
    expectProblem(await put(`${path}/create`, { name: 'deal123', price: 1 }), 409, 'deal-exists')
    expect((await put(`${path}/hold`, { id: path.slice(-36).toUpperCase(), reason: 'test' })).status).toBe(200)
    expectProblem(await put(`${path}/hold`, { id: randomUUID(), reason: 'x' }), 400, 'deal-mismatch')
    expect((await ask(path)).body.holdReason).toBe('test')
  })

  it('deletes a deal for good: 204, then 404, and its id is never used again', async () => {
    const path = await create()
    const deleted = await remove(path)
    expect({ status: deleted.status, text: deleted.text }).toEqual({ status: 204, text: '' })
    expect(deleted.headers.get('deal-changed')).toBe('true')
    expectProblem(await ask(path), 404, 'not-found')
    expectProblem(await remove(path), 404, 'not-found')
    expectProblem(await put(`${path}/hold`, { reason: 'test' }), 404, 'not-found')
    const id = path.slice(-36)
    expectProblem(await post({ id, name: 'again', price: 1 }), 409, 'deal-exists')
    const { body } = await ask('/rest/v1/deals?limit=200')
    expect((body.items as { id: string }[]).map((deal) => deal.id)).not.toContain(id)
    expect((await eventsOf(path)).map(({ type }) => type)).toEqual(['deal.created', 'deal.deleted'])
  })

  describe('methods and paths', () => {
    it('answers HEAD wherever GET, without a body', async () => {
      const path = await create()
      const [get, head] = [await ask(path), await ask(path, { method: 'HEAD' })]
      expect({ status: head.status, text: head.text }).toEqual({ status: 200, text: '' })
      for (const name of ['etag', 'content-type', 'cache-control']) {
        expect(head.headers.get(name)).toBe(get.headers.get(name))
      }
      expect((await ask('/rest/v1/deals', { method: 'HEAD' })).status).toBe(200)
      const missing = await ask(`/rest/v1/deals/${randomUUID()}`, { method: 'HEAD' })
      expect({ status: missing.status, text: missing.text }).toEqual({ status: 404, text: '' })
    })

    it('says what PATCH takes, where there is one', async () => {
      const path = await create()
      const taken = 'application/merge-patch+json, application/json'
      const options = await stack.deal.send(path, { method: 'OPTIONS' })
      expect(options.headers.get('accept-patch')).toBe(taken)
      expect((await stack.deal.send('/rest/v1/deals', { method: 'OPTIONS' })).headers.get('accept-patch')).toBeNull()
      const refused = await ask(path, { method: 'PATCH', body: 'x', headers: { 'content-type': 'text/plain' } })
      expectProblem(refused, 415, 'unsupported-media-type')
      expect(refused.headers.get('accept-patch')).toBe(taken)
    })

    it('names the versions there are to who asks for another', async () => {
      const reply = await ask('/rest/v2/deals')
      expectProblem(reply, 404, 'unknown-version')
      expect(reply.body.versions).toEqual(['v1'])
      expectProblem(await ask('/rest/v1/nothing'), 404, 'not-found')
      expectProblem(await ask('/rest'), 404, 'not-found')
    })
  })
})
