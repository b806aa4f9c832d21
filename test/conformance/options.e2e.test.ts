/** What every style takes beside the command: preconditions, trying without doing, answers without a body. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, type Reply } from '../support/clients/http-client.ts'
import { type StyleClient, type StyleRequest, styleClients } from '../support/clients/style-clients.ts'
import { describeEmbedded, describeOnce } from '../support/stores/backends.ts'
import { storedDeals, withoutIdsAndTimes } from '../support/stores/stored-deals.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'
import { transitionTable } from '../support/worlds/transition-table.ts'
import { makeTwin, type SendRequest, sendAs, type Twin } from '../support/worlds/twins.ts'

let stack: Stack
let send: SendRequest
let stored: ReturnType<typeof storedDeals>

type Members = Readonly<Record<string, unknown>>
const titles = styleClients.map((client) => [client.title, client] as const)

/** A command on an open deal that the style covers and that changes something. */
function changing(client: StyleClient, twin: Twin): StyleRequest {
  const useCase = client.style === 'resource' ? 'DeleteDeal' : client.title === 'natural form' ? 'AddTask' : 'HoldDeal'
  const { params = {} } = transitionTable.find((row) => row.useCase === useCase) ?? {}
  const request = client.request({ useCase, params, ...twin })
  if (!request) throw new TypeError(`${client.title} covers ${useCase}`)
  return request
}
const withHeaders = ({ path, sent }: StyleRequest, headers: Readonly<Record<string, string>>): StyleRequest => ({
  path,
  sent: { ...sent, headers: { ...sent.headers, ...headers } },
})
const tried = ({ path, sent }: StyleRequest): StyleRequest => ({ path: `${path}?validateOnly=true`, sent })

const put = (path: string, json: unknown, headers: Readonly<Record<string, string>> = {}) =>
  send({ path, sent: { method: 'PUT', json, headers } })
const read = async (path: string) => (await send({ path, sent: {} })).body
const countRows = async () => {
  const [row] = await stack.database.query(
    'select (select count(*)::int from deals.events) as e, (select count(*)::int from deals.commands) as c',
    [],
  )
  return row
}

const open =
  (openBackend: Parameters<typeof openStack>[0], environment = {}) =>
  async () => {
    stack = await openStack(openBackend, { inProcess: true, logLevel: 'silent', environment })
    send = sendAs(stack.deal, (await stack.logIn('alice')).access)
    stored = storedDeals(stack.database)
  }

const refusedWhenCancelled = ['RenameDeal', 'HoldDeal', 'AddTask']

/** What two answers have in common that differ in ids, times and what says that nothing was done. */
function comparable(reply: Reply, { dealId }: Twin) {
  const { requestId: _requestId, instance: _instance, ...body } = reply.body
  const text = JSON.stringify(body)
    .replace(/\/commands\/[^"]+/g, '/commands/x')
    .replace(/"conformance-[^"]+"/g, '"x"')
  const withoutEventIds = text.replace(/"id":"[0-9a-f]{8}-[0-9a-f]{4}-7[^"]+"/g, '"id":"x"')
  const headers = ['etag', 'deal-changed', 'content-type', 'preference-applied'].map((name) => reply.headers.get(name))
  return withoutIdsAndTimes({ status: reply.status, headers, body: JSON.parse(withoutEventIds) }, dealId)
}

async function tryAndDo(client: StyleClient, row: (typeof transitionTable)[number], state: 'OPEN' | 'CANCELLED') {
  const twin = await makeTwin(send, state)
  const request = client.request({ useCase: row.useCase, params: row.params, ...twin })
  if (!request) return
  const before = await stored.load(twin.dealId)
  const trial = await send(tried(request))
  expect(trial.headers.get('deal-validated-only')).toBe('true')
  expect(await stored.load(twin.dealId)).toEqual(before)
  const real = await send(request)
  expect(real.headers.get('deal-validated-only')).toBeNull()
  expect(real.headers.get('idempotent-replayed')).toBeNull()
  expect(comparable(trial, twin)).toEqual(comparable(real, twin))
}

describeOnce('options of commands', (openBackend) => {
  beforeAll(open(openBackend))
  afterAll(() => stack.close())

  describe.each(titles)('%s', (_title, client) => {
    it.each(['OPEN', 'CANCELLED'] as const)(
      'validateOnly: like the real request, for a deal that is %s',
      async (state) => {
        const rows = transitionTable.filter(({ useCase }) => state === 'OPEN' || refusedWhenCancelled.includes(useCase))
        await Promise.all(rows.map((row) => tryAndDo(client, row, state)))
      },
    )

    it('validateOnly writes nothing, and its id stays usable', async () => {
      const twin = await makeTwin(send, 'OPEN')
      const request = changing(client, twin)
      const keyed = client.namesCommands ? request : withHeaders(request, { 'idempotency-key': randomUUID() })
      const before = await countRows()
      await send(tried(keyed))
      await send(tried(keyed))
      expect(await countRows()).toEqual(before)
      const done = await send(keyed)
      expect({ status: done.status < 300, replayed: done.headers.get('idempotent-replayed') }).toEqual({
        status: true,
        replayed: null,
      })
    })

    // Another body than that of a call is no call.
    it.runIf(client.form !== 'call')('validateOnly marks every response, also a replay', async () => {
      const twin = await makeTwin(send, 'OPEN')
      const request = changing(client, twin)
      const keyed = client.namesCommands ? request : withHeaders(request, { 'idempotency-key': randomUUID() })
      const unread: StyleRequest = { ...keyed, sent: { ...keyed.sent, json: { surprise: 1 } } }
      const { access } = await stack.logIn('dave')
      const replies = [
        await send(tried(unread)),
        await send(tried(withHeaders(keyed, { 'if-match': '"9"' }))),
        await sendAs(stack.deal, access)(tried(keyed)),
      ]
      expect(replies.map(({ status }) => status)).toEqual([400, 412, 403])
      await send(keyed)
      const replayed = await send(tried(keyed))
      expect(replayed.headers.get('idempotent-replayed')).toBe('true')
      for (const { headers } of [...replies, replayed]) expect(headers.get('deal-validated-only')).toBe('true')
      expect((await send({ path: twin.path, sent: {} })).headers.get('deal-validated-only')).toBeNull()
    })

    it('a failed If-Match is 412, with the current deal and the allowed commands', async () => {
      const twin = await makeTwin(send, 'OPEN')
      for (const tag of ['"2"', 'W/"1"', '"30"']) {
        const reply = await send(withHeaders(changing(client, twin), { 'if-match': tag }))
        expectProblem(reply, 412, 'precondition-failed')
        expect(reply.headers.get('etag')).toBe('"3"')
        expect(reply.body.current).toEqual(twin.read)
        expect(reply.body.allowed).toContain('HoldDeal')
        expect(reply.body.allowed).toContain('RestoreDeal')
      }
      expect(await read(twin.path)).toEqual(twin.read)
    })

    it.each(['"3"', 'W/"3"', '"1", "3"', ', "1",,"3" ,', '*', '"3-gz"', '"3--gzip"'])(
      'If-Match: %s is fulfilled',
      async (tag) => {
        const twin = await makeTwin(send, 'OPEN')
        const reply = await send(withHeaders(changing(client, twin), { 'if-match': tag }))
        expect(reply.status).toBeLessThan(300)
        expect((await stored.load(twin.dealId))?.version).toBe(4)
      },
    )

    it('Prefer: return=minimal omits a body that is the deal', async () => {
      const twin = await makeTwin(send, 'OPEN')
      const reply = await send(withHeaders(changing(client, twin), { prefer: 'respond-async, return=minimal' }))
      if (client.form !== 'deal') return expect(reply.status).toBe(client.form === 'command' ? 201 : 200)
      expect({ status: [201, 204].includes(reply.status), text: reply.text }).toEqual({ status: true, text: '' })
      expect(reply.headers.get('etag')).toBe('"4"')
      if (client.style !== 'resource') expect(reply.headers.get('preference-applied')).toBe('return=minimal')
      return undefined
    })
  })

  it.each([',', ', ,', '"3" "4"', '3,', '"3", *'])('If-Match: %s is no list of entity tags', async (ifMatch) => {
    const { path } = await makeTwin(send, 'OPEN')
    for (const name of ['if-match', 'if-none-match']) {
      expectProblem(await put(`${path}/hold`, { reason: 'x' }, { [name]: ifMatch }), 400, 'invalid-parameter')
    }
  })

  it.each([
    ['return="minimal"; x=y', ''],
    ['Return=Minimal, return=representation', ''],
    ['return=representation, return=minimal', 'the deal'],
    ['return=representation; x=minimal', 'the deal'],
    ['wait; x="a, return=minimal"', 'the deal'],
    ['wait="return=minimal', 'the deal'],
  ])('Prefer: %s leaves %j', async (prefer, left) => {
    const { path } = await makeTwin(send, 'OPEN')
    const reply = await put(`${path}/hold`, { reason: 'x' }, { prefer })
    expect(reply.status).toBe(left === '' ? 204 : 200)
    expect(reply.headers.get('preference-applied')).toBe(left === '' ? 'return=minimal' : null)
  })

  it('If-Match for a missing deal is 404, not 412', async () => {
    expectProblem(
      await put(`/rest/v1/deals/${randomUUID()}/hold`, { reason: 'x' }, { 'if-match': '*' }),
      404,
      'not-found',
    )
  })

  it('a creation with If-None-Match: * on a taken id is 412', async () => {
    const { dealId: id, read: current } = await makeTwin(send, 'OPEN')
    const json = { id, name: 'deal', price: 1 }
    const reply = await send({ path: '/rest/v1/deals', sent: { json, headers: { 'if-none-match': '*' } } })
    expectProblem(reply, 412, 'precondition-failed')
    expect(reply.body.current).toEqual(current)
  })

  it('a creation with the id of a deleted deal shows nothing of that deal', async () => {
    const { dealId: id } = await makeTwin(send, 'DELETED')
    const json = { id, name: 'deal', price: 1 }
    for (const ifNoneMatch of [undefined, '*']) {
      const headers = ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch }
      const reply = await send({ path: '/rest/v1/deals', sent: { json, headers } })
      if (ifNoneMatch) expectProblem(reply, 412, 'precondition-failed')
      else expectProblem(reply, 409, 'deal-exists')
      for (const name of ['current', 'currentStatus', 'held', 'allowed']) expect(reply.body).not.toHaveProperty(name)
    }
  })

  it('a deleted deal allows only RestoreDeal', async () => {
    const { path } = await makeTwin(send, 'DELETED')
    const reply = await put(`${path}/restore`, {}, { 'if-match': '"9"' })
    expectProblem(reply, 412, 'precondition-failed')
    expect(reply.body.current).toMatchObject({ deletedAt: expect.any(String), purgeAt: expect.any(String) })
    expect(reply.body.allowed).toEqual(['RestoreDeal'])
    expect((await put(`${path}/restore`, {})).body).toMatchObject({ deletedAt: null, purgeAt: null })
  })
})

describeOnce('the whole deal and its version', (openBackend) => {
  beforeAll(open(openBackend))
  afterAll(() => stack.close())

  it('a stale PUT cannot revert what others have changed', async () => {
    const { path, read: stale } = await makeTwin(send, 'OPEN')
    await put(`${path}/change-price`, { newPrice: 99, reason: 'dearer' })
    const current = await read(path)
    const mine: Members = { ...stale, name: 'my name' }
    const reply = await put(path, mine)
    expectProblem(reply, 412, 'precondition-failed')
    expect(reply.body.current).toEqual(current)
    const { version: _version, ...unversioned } = mine
    expectProblem(await put(path, unversioned, { 'if-match': '"3"' }), 412, 'precondition-failed')
    expectProblem(await put(path, unversioned), 422, 'reason-required')
    expect(await read(path)).toEqual(current)
    const again = await put(path, { ...current, name: 'my name' })
    expect(again.body).toMatchObject({ name: 'my name', price: 99, version: 5 })
  })

  it('If-Match has priority over the version in the body', async () => {
    const { path, read: stale } = await makeTwin(send, 'OPEN')
    const ahead = { ...stale, version: 99, name: 'other' }
    expect((await put(path, ahead, { 'if-match': '"3"' })).status).toBe(200)
  })

  it('the same PUT again succeeds, although its version is stale', async () => {
    const { path, read: before } = await makeTwin(send, 'OPEN')
    const { tasks: _tasks, ...members } = before
    const changed = { ...members, name: 'other', price: 5, priceReason: 'cheap', held: true, holdReason: 'test' }
    const first = await put(path, changed)
    expect(first.headers.get('deal-use-cases')).toBe('RenameDeal, ChangePrice, HoldDeal')
    expect(first.body).toMatchObject({ name: 'other', price: 5, held: true, version: 4 })
    for (const headers of [{}, { 'if-match': '"3"' }]) {
      const again = await put(path, changed, headers)
      expect({ status: again.status, changed: again.headers.get('deal-changed') }).toEqual({
        status: 200,
        changed: 'false',
      })
      expect(again.text).toBe(first.text)
    }
    const events = (await stored.history(path.slice(-36))).slice(3)
    expect(events.map(({ type }) => type)).toEqual(['deal.renamed', 'deal.price-changed', 'deal.held'])
    expect(new Set(events.map(({ correlationId }) => correlationId)).size).toBe(1)
    expect(events.map(({ useCase, dealVersion }) => [useCase, dealVersion])).toEqual([
      ['RenameDeal', 4],
      ['ChangePrice', 4],
      ['HoldDeal', 4],
    ])
  })

  it.each<[string, 'OPEN' | 'HELD', Members]>([
    ['unheld', 'HELD', { held: false }],
    ['unheld and renamed', 'HELD', { held: false, name: 'other' }],
    ['held', 'OPEN', { held: true, holdReason: 'why' }],
    ['cancelled while held', 'HELD', { status: 'cancelled', cancelReason: 'test', cancelPenalty: 1 }],
    ['cancelled', 'OPEN', { status: 'cancelled', cancelReason: 'test', cancelPenalty: 1 }],
    ['completed over open tasks', 'OPEN', { status: 'completed', completion: { openTasks: 'drop' } }],
  ])(
    'what was read, the deal %s, and sent twice: the second succeeds and changes nothing',
    async (_what, state, changes) => {
      const { path, read: before } = await makeTwin(send, state)
      const first = await put(path, { ...before, ...changes })
      expect({ status: first.status, changed: first.headers.get('deal-changed') }).toEqual({
        status: 200,
        changed: 'true',
      })
      const again = await put(path, { ...before, ...changes }, { 'if-match': `"${before.version}"` })
      expect({ status: again.status, text: again.text }).toEqual({ status: 200, text: first.text })
      expect(again.headers.get('deal-changed')).toBe('false')
    },
  )

  it('a new hold of an unheld or cancelled deal is distinguished from a hold that has ended', async () => {
    const { path, read: before } = await makeTwin(send, 'OPEN')
    expectProblem(await put(path, { ...before, holdReason: 'why' }), 422, 'inconsistent-attributes')
    const { path: cancelled, read: closed } = await makeTwin(send, 'CANCELLED')
    expectProblem(await put(cancelled, { ...closed, held: true, holdReason: 'why' }), 409, 'deal-closed')
    const reopened = await put(`${cancelled}/reopen`, { reason: 'test' })
    expectProblem(await put(cancelled, { ...reopened.body, tasks: before.tasks }), 422, 'use-case-required')
  })

  it.each<[string, Members]>([
    ['completed', { status: 'completed', completion: { documentNumber: 'D-1' } }],
    ['cancelled', { status: 'cancelled', cancelReason: 'test', cancelPenalty: '1.50', held: false }],
    ['dated', { completionDate: '2031-01-01', completionDateReason: 'late', completionDatePenalty: 2 }],
  ])('the same PUT again succeeds when the deal was %s by it', async (_what, changes) => {
    const { path } = await makeTwin(send, 'OPEN')
    for (const { id } of (await read(path)).tasks as { id: string }[]) {
      await put(`${path}/complete-task`, { taskId: id })
    }
    const { tasks: _tasks, ...members } = await read(path)
    const first = await put(path, { ...members, ...changes })
    expect({ status: first.status, code: first.body.code }).toEqual({ status: 200, code: undefined })
    const again = await put(path, { ...members, ...changes })
    expect({ status: again.status, text: again.text }).toEqual({ status: 200, text: first.text })
  })

  it.each<[string, 'CANCELLED' | 'COMPLETED', Members]>([
    ['the penalty', 'CANCELLED', { cancelPenalty: 9 }],
    ['the reason', 'CANCELLED', { cancelReason: 'other' }],
    ['the document', 'COMPLETED', { completion: { documentNumber: 'D-2' } }],
  ])('%s of a closed deal stays, in a PUT of the whole deal and alone', async (_what, state, other) => {
    const { path, read: before } = await makeTwin(send, state)
    for (const sent of [
      { method: 'PUT', json: { ...before, ...other } },
      { method: 'PATCH', json: other },
    ]) {
      expectProblem(await send({ path, sent }), 409, 'deal-closed')
      expect(await read(path)).toEqual(before)
    }
    const [name = ''] = Object.keys(other)
    const reply = await send({ path, sent: { method: 'PATCH', json: { [name]: before[name] } } })
    expect({ status: reply.status, changed: reply.headers.get('deal-changed') }).toEqual({
      status: 200,
      changed: 'false',
    })
  })

  it('all or nothing: one refused use case refuses all', async () => {
    const { path, read: before } = await makeTwin(send, 'OPEN')
    const reply = await put(path, { ...before, name: 'other', status: 'completed' })
    expectProblem(reply, 409, 'open-tasks')
    expect(await read(path)).toEqual(before)
  })

  it('of 20 concurrent PUTs of one version, one succeeds', async () => {
    const { path, read: before } = await makeTwin(send, 'OPEN')
    const replies = await Promise.all(Array.from({ length: 20 }, (_, n) => put(path, { ...before, name: `name ${n}` })))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(412)])
    expect((await read(path)).version).toBe(4)
  })
})

describeEmbedded('REQUIRE_PRECONDITION', (openBackend) => {
  beforeAll(open(openBackend, { REQUIRE_PRECONDITION: 'true' }))
  afterAll(() => stack.close())

  it('refuses only a whole deal without a version', async () => {
    const { path, read: before } = await makeTwin(send, 'OPEN')
    const { version, ...members } = before
    const refused = await put(path, { ...members, name: 'other' })
    expectProblem(refused, 428, 'precondition-required')
    expect(refused.body.dealId).toBe(before.id)
    expect((await put(path, members)).status).toBe(200)
    expect((await put(path, { ...members, version, name: 'one' })).status).toBe(200)
    expect((await put(path, { ...members, name: 'two' }, { 'if-match': '"4"' })).status).toBe(200)
    expect((await put(path, { action: 'RenameDeal', params: { newName: 'three' } })).status).toBe(200)
    expect((await send({ path, sent: { method: 'PATCH', json: { name: 'four' } } })).status).toBe(200)
    expect((await put(`${path}/hold`, { reason: 'test' })).status).toBe(200)
  })
})
