/** What no style accepts, and where it says the fault is. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, type Reply } from '../support/clients/http-client.ts'
import { type StyleClient, styleClients } from '../support/clients/style-clients.ts'
import { describeEmbedded } from '../support/stores/backends.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'
import { makeTwin, type SendRequest, sendAs, type Twin } from '../support/worlds/twins.ts'

let stack: Stack
let send: SendRequest
let twin: Twin

type Params = Readonly<Record<string, unknown>>
type Fault = readonly [pointer: string, code?: string]

function expectFault(reply: Reply, [status, code]: readonly [number, string], [pointer, kind]: Fault): void {
  expectProblem(reply, status, code)
  const errors = reply.body.errors as readonly { pointer: string; code: string }[]
  expect(errors.map((error) => error.pointer)).toContain(pointer)
  if (kind) expect(errors.find((error) => error.pointer === pointer)?.code).toBe(kind)
}

const put = (json: unknown, path = twin.path) => send({ path, sent: { method: 'PUT', json } })
const post = (path: string, json: unknown) => send({ path, sent: { json } })

/** Where each style has the parameter; attributes have names of their own. */
const attributeNames: Readonly<Record<string, string>> = {
  newPrice: 'price',
  penaltyAmount: 'cancelPenalty',
  newDate: 'completionDate',
  newName: 'name',
  reasonCode: 'holdReasonCode',
  employeeId: 'ownerId',
}
const reasonNames: Readonly<Record<string, string>> = { HoldDeal: 'holdReason', CancelDeal: 'cancelReason' }
const memberOf = (client: StyleClient, useCase: string, name: string) => {
  if (client.style !== 'attribute-update') return `${client.at}/${name}`
  return `/${name === 'reason' ? reasonNames[useCase] : attributeNames[name]}`
}

const cases: [string, Params, string, number, string, string][] = [
  ['ChangePrice', { newPrice: 0.1 + 0.2, reason: 'x' }, 'newPrice', 422, 'invalid-value', 'currency-scale'],
  ['ChangePrice', { newPrice: -1, reason: 'x' }, 'newPrice', 422, 'invalid-value', 'invalid-amount'],
  ['ChangePrice', { newPrice: true, reason: 'x' }, 'newPrice', 400, 'invalid-body', 'wrong-type'],
  ['CancelDeal', { penaltyAmount: -1, reason: 'x' }, 'penaltyAmount', 422, 'invalid-value', 'invalid-amount'],
  ['HoldDeal', { reason: 'nul \u0000' }, 'reason', 422, 'invalid-value', 'control-character'],
  ['HoldDeal', { reason: '🙂'.repeat(1001) }, 'reason', 422, 'invalid-value', 'too-long'],
  ['HoldDeal', { reason: 7 }, 'reason', 400, 'invalid-body', 'wrong-type'],
  ['HoldDeal', { reason: 'x', reasonCode: 'A b' }, 'reasonCode', 422, 'invalid-value', 'invalid-format'],
  ['AssignOwner', { employeeId: 'no body' }, 'employeeId', 422, 'invalid-value', 'invalid-format'],
  ['AssignOwner', { employeeId: '..' }, 'employeeId', 422, 'invalid-value', 'invalid-format'],
]

describeEmbedded('bad input', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true, logLevel: 'silent' })
    send = sendAs(stack.deal, (await stack.logIn('alice')).access)
    twin = await makeTwin(send, 'OPEN')
  })
  afterAll(async () => {
    const { body } = await send({ path: twin.path, sent: {} })
    expect(body).toEqual(twin.read)
    await stack.close()
  })

  it.each(cases)('%s %j: the fault is %s, %d %s %s', async (useCase, params, name, status, code, kind) => {
    for (const client of styleClients) {
      const request = client.request({ useCase, params, ...twin })
      if (request) expectFault(await send(request), [status, code], [memberOf(client, useCase, name), kind])
    }
  })

  it('too many decimals for the currency are found by the decision, with a pointer', async () => {
    const requests = [1.234, '1.230'].flatMap((newPrice) =>
      styleClients.map((client) => {
        const params = { newPrice, reason: 'x' }
        return [client, client.request({ useCase: 'ChangePrice', params, ...twin })] as const
      }),
    )
    for (const [client, request] of requests) {
      if (!request) continue
      const reply = await send(request)
      expectProblem(reply, 422, 'invalid-value')
      expect(reply.body.errors).toMatchObject([
        { pointer: memberOf(client, 'ChangePrice', 'newPrice'), code: 'currency-scale' },
      ])
    }
  })

  it('the pointer of an unknown user is the place in the style', async () => {
    for (const client of styleClients) {
      const request = client.request({ useCase: 'AssignOwner', params: { employeeId: 'nobody' }, ...twin })
      if (!request) continue
      const reply = await send(request)
      expectFault(reply, [422, 'employee-unknown'], [memberOf(client, 'AssignOwner', 'employeeId')])
    }
  })

  it('unknown and missing members, in every style except attributes', async () => {
    const some = [
      ['a~1b~0c', { reason: 'x', 'a/b~c': 1 }],
      ['__proto__', JSON.parse('{"reason":"x","__proto__":{"a":1}}')],
      ['constructor', { reason: 'x', constructor: 1 }],
    ] as const
    for (const client of styleClients.filter(({ style }) => style !== 'attribute-update')) {
      for (const [name, params] of some) {
        const unknown = client.request({ useCase: 'HoldDeal', params, ...twin })
        if (unknown) expectFault(await send(unknown), [400, 'invalid-body'], [`${client.at}/${name}`, 'unknown-member'])
      }
      const missing = client.request({ useCase: 'HoldDeal', params: {}, ...twin })
      if (missing) expectFault(await send(missing), [400, 'invalid-body'], [`${client.at}/reason`, 'missing-member'])
    }
  })

  it.each([[null], [[]], ['x'], [1]])('params %j are refused', async (params) => {
    const body = { action: 'UnholdDeal', params }
    for (const path of [twin.path, `${twin.path}/commands/${randomUUID()}`, `/commands/${randomUUID()}`]) {
      expectFault(await put(body, path), [400, 'invalid-body'], ['/params', 'wrong-type'])
    }
  })

  describe('whole deals', () => {
    it.each(['name', 'price', 'held'])('without %s are incomplete', async (name) => {
      const { [name]: _left, ...rest } = twin.read
      expectFault(await put(rest), [422, 'incomplete-representation'], [`/${name}`, 'missing-member'])
    })

    it.each<[string, Params, number, string, string]>([
      ['held without a reason', { held: true }, 422, 'incomplete-representation', '/holdReason'],
      [
        'held with no reason said',
        { held: true, holdReason: undefined },
        422,
        'incomplete-representation',
        '/holdReason',
      ],
      ['a reason without a hold', { holdReason: 'x' }, 422, 'inconsistent-attributes', '/holdReason'],
      ['another id', { id: randomUUID() }, 422, 'read-only-attribute', '/id'],
      ['another currency', { currency: 'USD' }, 422, 'read-only-attribute', '/currency'],
      ['a price without a reason', { price: 5 }, 422, 'reason-required', '/priceReason'],
      ['a date without a reason', { completionDate: null }, 422, 'reason-required', '/completionDateReason'],
      [
        'a date without a penalty',
        { completionDate: null, completionDateReason: 'x' },
        422,
        'penalty-required',
        '/completionDatePenalty',
      ],
      [
        'a cancellation without a reason',
        { status: 'cancelled', cancelPenalty: 0 },
        422,
        'reason-required',
        '/cancelReason',
      ],
      [
        'a cancellation without a penalty',
        { status: 'cancelled', cancelReason: 'x' },
        422,
        'penalty-required',
        '/cancelPenalty',
      ],
      [
        'a cancellation and a new hold',
        { status: 'cancelled', cancelReason: 'x', cancelPenalty: 0, held: true, holdReason: 'x' },
        422,
        'inconsistent-attributes',
        '/held',
      ],
      [
        'an action beside attributes',
        { action: 'HoldDeal', params: { reason: 'x' } },
        400,
        'ambiguous-update',
        '/name',
      ],
      ['params without an action', { params: {} }, 400, 'invalid-body', '/params'],
      ['an unknown member', { colour: 'red' }, 400, 'invalid-body', '/colour'],
      ['an unknown status', { status: 'lost' }, 422, 'invalid-value', '/status'],
      ['an ill-typed hold', { held: 'yes' }, 400, 'invalid-body', '/held'],
      ['an ill-typed version', { version: '3' }, 400, 'invalid-body', '/version'],
    ])('%s', async (_what, changes, status, code, pointer) => {
      expectFault(await put({ ...twin.read, ...changes }), [status, code], [pointer])
    })
  })

  describe('an ignored member of an attribute update', () => {
    const update = (method: string, members: string) => {
      const named = new Set([...members.matchAll(/"(\w+)":/g)].map(([, name]) => name))
      const read = Object.entries(twin.read).filter(([name]) => name !== 'tasks' && !named.has(name))
      const body = `${JSON.stringify(Object.fromEntries(read)).slice(0, -1)},${members}}`
      const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() }
      return send({ path: twin.path, sent: { method, body, headers } })
    }

    it.each<[string, string, string]>([
      ['/description', '"nul \\u0000"', 'control-character'],
      ['/heldBy', '"half \\ud800 pair"', 'lone-surrogate'],
      ['/links', '{"nul \\u0000":1}', 'control-character'],
      ['/allowed', '["\\udc00\\ud800"]', 'lone-surrogate'],
      ['/tasks', `[{"title":"\\u0000"}]`, 'control-character'],
      ['/id', '"\\u0000"', 'control-character'],
      ['/currency', '"\\ud800"', 'lone-surrogate'],
    ])('must be possible to keep all the same: %s %.20s', async (pointer, json, code) => {
      for (const method of ['PUT', 'PATCH']) {
        expectFault(await update(method, `"${pointer.slice(1)}":${json}`), [422, 'invalid-value'], [pointer, code])
      }
    })

    it('may have any type', async () => {
      const reply = await update(
        'PUT',
        '"createdAt":7,"links":[[["deep"]]],"description":{"a":{"b":1e400}},"blocked":""',
      )
      expect([reply.status, reply.text]).toEqual([200, JSON.stringify(twin.read)])
    })
  })

  describe('names of deals and use cases', () => {
    const other = randomUUID()
    const params = { reason: 'x' }

    it.each<[string, () => Promise<Reply>]>([
      ['the path of an action', () => put({ id: other, ...params }, `${twin.path}/hold`)],
      ['a single update', () => put({ action: 'HoldDeal', params: { id: other, ...params } })],
      ['a command of the deal', () => put({ deal: other, action: 'HoldDeal', params }, `${twin.path}/commands/m-1`)],
      [
        'its parameters',
        () => put({ action: 'HoldDeal', params: { id: other, ...params } }, `${twin.path}/commands/m-2`),
      ],
      [
        'a command',
        () => put({ deal: twin.dealId, action: 'HoldDeal', params: { id: other, ...params } }, '/commands/m-3'),
      ],
      [
        'its parameters by deal',
        () => put({ deal: twin.dealId, action: 'HoldDeal', params: { deal: other, ...params } }, '/commands/m-8'),
      ],
      ['the controller', () => post('/command/HoldDeal/', { id: twin.dealId, deal: other, ...params })],
      ['a creation', () => put({ id: other, name: 'x', price: 1 }, `${twin.path}/create`)],
    ])('two different deals in %s are a mismatch', async (_what, request) => {
      expectProblem(await request(), 400, 'deal-mismatch')
    })

    it('the id of a new deal is checked as a value at every place of the body', async () => {
      const deal = { name: 'x', price: 1 }
      const created: [Reply, string][] = [
        [await post('/rest/v1/deals', { id: 'deal-1', ...deal }), '/id'],
        [await post('/command/CreateDeal/', { id: 'deal-1', ...deal }), '/id'],
        [await post('/command/CreateDeal/', { deal: 'deal-1', ...deal }), '/deal'],
        [await put({ deal: 'deal-1', action: 'CreateDeal', params: deal }, '/commands/m-9'), '/deal'],
        [await put({ action: 'CreateDeal', params: { id: 'deal-1', ...deal } }, '/commands/m-9'), '/params/id'],
      ]
      for (const [reply, pointer] of created) expectFault(reply, [422, 'invalid-value'], [pointer])
      expectProblem(await post('/command/HoldDeal/', { id: 'deal-1', ...params }), 404, 'not-found')
    })

    it('beside an action only params are allowed, and attributes are ambiguous', async () => {
      const action = { action: 'HoldDeal', params }
      expectFault(await put({ ...action, reason: 'x' }), [400, 'invalid-body'], ['/reason', 'unknown-member'])
      expectFault(await put({ ...action, holdReason: 'x' }), [400, 'ambiguous-update'], ['/holdReason'])
      expectFault(await put({ ...action, version: 3, reason: 'x' }), [400, 'ambiguous-update'], ['/version'])
    })

    it('the pointer of a missing deal id is the place where it belongs', async () => {
      expectFault(await put({ action: 'HoldDeal', params }, '/commands/m-4'), [400, 'invalid-body'], ['/deal'])
      expectFault(await put({ deal: 7, action: 'HoldDeal', params }, '/commands/m-4'), [400, 'invalid-body'], ['/deal'])
      expectFault(await post('/command/HoldDeal/', params), [400, 'invalid-body'], ['/id'])
      expectFault(await post('/command/HoldDeal/', { deal: 7, ...params }), [400, 'invalid-body'], ['/deal'])
    })

    it('an unknown use case', async () => {
      for (const path of [twin.path, `${twin.path}/commands/m-5`]) {
        expectFault(await put({ action: 'Hold', params }, path), [422, 'invalid-value'], ['/action', 'unknown-action'])
      }
      const global = await put({ deal: twin.dealId, action: 'holdDeal', params }, '/commands/m-5')
      expectFault(global, [422, 'invalid-value'], ['/action', 'unknown-action'])
      expectProblem(await post('/command/holdDeal/', { id: twin.dealId, ...params }), 404, 'unknown-command')
      expectProblem(await post(`${twin.path}/holdDeal`, params), 404, 'not-found')
    })

    it('an id in the path and another in Idempotency-Key', async () => {
      const sent = { method: 'PUT', json: { action: 'HoldDeal', params }, headers: { 'idempotency-key': 'm-7' } }
      expectProblem(await send({ path: `${twin.path}/commands/m-6`, sent }), 400, 'invalid-parameter')
    })

    it('PUT of a task without an id', async () => {
      const title = { title: 'call' }
      expectFault(await put(title, `${twin.path}/add-task`), [400, 'invalid-body'], ['/taskId'])
      expectFault(await put({ action: 'AddTask', params: title }), [400, 'invalid-body'], ['/params/taskId'])
    })
  })
})
