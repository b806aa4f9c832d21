import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { campaign } from '../../support/campaign.ts'
import { expectProblem, type Reply, rememberSecret, type Sent } from '../../support/clients/http-client.ts'
import { asApplication } from '../../support/clients/tool-calls.ts'
import { eventually } from '../../support/eventually.ts'
import { describeDealBackends } from '../../support/stores/citus.ts'
import { openStack, type Stack, type TestServer } from '../../support/worlds/stack.ts'
import { type Received, startReceiver, type WebhookReceiver } from '../../support/worlds/webhook-receiver.ts'

const manyEvents = campaign({ short: 30, long: 3_000 })

let stack: Stack
let admin: string
let receiver: WebhookReceiver
const made: string[] = []

const collection = '/rest/v1/webhooks'

const call = async (path: string, status: number, sent: Sent = {}): Promise<Reply> => {
  const reply = await stack.deal.send(path, { token: admin, ...sent })
  expect(reply.status, reply.text).toBe(status)
  return reply
}

/** A webhook to the receiver, which knows its secret. */
async function create(settings: object = {}, token = admin): Promise<string> {
  const { body } = await call(collection, 201, { token, json: { url: receiver.url, ...settings } })
  rememberSecret(String(body.secret))
  receiver.secrets.push(String(body.secret))
  made.push(String(body.id))
  return String(body.id)
}

const at = (id: string, below = '') => `${collection}/${id}${below}`
const read = async (id: string) => (await call(at(id), 200)).body
const healthOf = async (id: string) => (await read(id)).health as Record<string, unknown>
const patch = (id: string, json: object, status = 200) => call(at(id), status, { method: 'PATCH', json })
const post = (id: string, below: string, json: object, status = 200) =>
  call(at(id, below), status, { method: 'POST', json })

async function createDeal(server: TestServer = stack.deal): Promise<string> {
  const id = randomUUID()
  const { status } = await server.send('/rest/v1/deals', { token: admin, json: { id, name: 'deal', price: 1 } })
  expect(status).toBe(201)
  return id
}

const rename = async (id: string, newName: string, server: TestServer = stack.deal) => {
  const reply = await server.send(`/rest/v1/deals/${id}/rename`, { token: admin, method: 'PUT', json: { newName } })
  expect(reply.status).toBe(200)
}

const ofDeal = (messages: readonly Received[], id: string) => messages.filter(({ data }) => data.subject === id)
const sequences = (id: string) => ofDeal(receiver.taken(), id).map(({ data }) => data.sequence)

const asAdmin = async (path: string, json: unknown, method = 'PATCH') => {
  const { status, text } = await stack.auth.send(path, { method, json, token: admin })
  expect(status, text).toBeLessThan(300)
}
const newUser = async (rights: readonly string[]) => {
  const username = `user-${randomUUID().slice(0, 8)}`
  const password = `password of ${username}`
  await asAdmin('/users', { username, password, rights }, 'POST')
  return { username, token: (await stack.logIn(username, password)).access }
}
const managing = ['webhook.manage', 'deal.read', 'deal.history.read']

describeDealBackends('webhooks', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, {
      dealServers: 2,
      environment: { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' },
      webhooks: { retriesMs: [20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120, 10_240], lookMs: 100, timeoutMs: 500 },
    })
    admin = (await stack.logIn('admin')).access
  })
  afterAll(() => stack.close())
  beforeEach(async () => {
    receiver = await startReceiver()
  })
  afterEach(async () => {
    for (const id of made.splice(0)) await stack.deal.send(at(id), { token: admin, method: 'DELETE' })
    expect(receiver.faults).toEqual([])
    await receiver.close()
  })

  it('send what happens from now on, signed, as it stands in the history, and soon', async () => {
    const id = await create()
    const deal = await createDeal()
    await rename(deal, 'other')
    await eventually(() => expect(sequences(deal)).toEqual([1, 2]))
    const { items } = (await call(`/rest/v1/deals/${deal}/history`, 200)).body
    // Events before may come too, while an older transaction of the database is open.
    const received = receiver.received.filter(({ data }) => data.subject === deal)
    expect(received.map(({ data }) => data)).toEqual(items)
    const [first] = received
    expect(first).toMatchObject({ id: first?.data.id, type: 'deal.created', timestamp: first?.data.time })
    expect(first?.headers).toMatchObject({ 'content-type': 'application/json' })
    expect(first?.headers['user-agent']).toMatch(/^Keyhold\/\d/)
    await eventually(async () => expect((await healthOf(id)).lastSuccessAt).not.toBeNull())
    expect(await healthOf(id)).toMatchObject({ failures: 0, blockedDeals: 0, nextAttemptAt: null, lagSeconds: 0 })
    const { body } = await call(at(id, '/deliveries'), 200)
    const deliveries = (body.items as { deal: string }[]).filter((one) => one.deal === deal)
    expect(deliveries).toMatchObject([
      { type: 'deal.renamed', deal, attempt: 1, outcome: 'delivered', status: 204, reason: null },
      { type: 'deal.created', deal, attempt: 1, outcome: 'delivered', status: 204, reason: null },
    ])
  })

  it('show their secret once, and nowhere else', async () => {
    const id = await create()
    const [secret = ''] = receiver.secrets
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    for (const path of [at(id), collection, at(id, '/deliveries')]) {
      expect((await call(path, 200)).text).not.toContain(secret)
    }
    const [row] = await stack.database.query<{ row: object }>('select to_json(w) as row from deals.webhooks w')
    expect(JSON.stringify(row)).not.toContain(secret.slice(6))
  })

  it('filter by type and by deal, and begin where they are told', async () => {
    const [one, other] = [await createDeal(), await createDeal()]
    await create({ types: ['deal.renamed'], deals: [one.toUpperCase()], after: '0' })
    for (const deal of [one, other, one]) await rename(deal, randomUUID())
    await eventually(() => expect(sequences(one)).toEqual([2, 3]))
    expect(receiver.received.filter(({ data }) => data.subject !== one)).toEqual([])
    expect(receiver.received.map(({ type }) => type)).toEqual(['deal.renamed', 'deal.renamed'])
  })

  it('try again what was not taken, with another signature time, while other deals go on', async () => {
    const id = await create()
    const [bad, good] = [await createDeal(), await createDeal()]
    await eventually(() => expect(receiver.taken()).toHaveLength(2))
    let isBad = true
    receiver.answer = ({ data }) => ({ status: isBad && data.subject === bad ? 500 : 200 })
    for (const deal of [bad, bad, good]) await rename(deal, randomUUID())
    await eventually(() => expect(sequences(good)).toEqual([1, 2]))
    await eventually(() => expect(ofDeal(receiver.received, bad).length).toBeGreaterThan(3))
    expect(new Set(ofDeal(receiver.received, bad).map(({ data }) => data.sequence))).toEqual(new Set([1, 2]))
    await eventually(async () => expect((await healthOf(id)).blockedDeals).toBe(1))
    expect(await healthOf(id)).toMatchObject({ lastFailureStatus: 500, lastFailureReason: 'refused' })
    isBad = false
    await eventually(() => expect(sequences(bad)).toEqual([1, 2, 3]))
    const tries = ofDeal(receiver.received, bad).filter(({ data }) => data.sequence === 2)
    expect(new Set(tries.map((one) => one.id)).size).toBe(1)
    await eventually(async () => expect((await healthOf(id)).blockedDeals).toBe(0))
  })

  it(`deliver each of ${manyEvents} events to a receiver that fails 30 %, in the order of each deal`, async () => {
    await create()
    receiver.answer = () => ({ status: Math.random() < 0.3 ? 503 : 200 })
    const deals = await Promise.all(Array.from({ length: 10 }, (_, index) => createDeal(stack.deals[index % 2])))
    const each = manyEvents / deals.length - 1
    await Promise.all(
      deals.map(async (deal, index) => {
        for (let count = 0; count < each; count += 1) await rename(deal, randomUUID(), stack.deals[(index + count) % 2])
      }),
    )
    await eventually(() => {
      for (const deal of deals) expect(sequences(deal)).toEqual(Array.from({ length: each + 1 }, (_, i) => i + 1))
    })
    expect(receiver.parallel.size).toBe(0)
  })

  it.each([
    ['answers with a redirect', () => ({ status: 302, headers: { location: '/elsewhere' } }), 302, 'redirect'],
    ['never answers', () => 'hang' as const, null, 'timeout'],
  ])('count as failed what %s', async (_, answer, status, reason) => {
    const id = await create()
    receiver.answer = answer
    await createDeal()
    await eventually(async () => {
      const health = { lastFailureStatus: status, lastFailureReason: reason, blockedDeals: 1 }
      expect(await healthOf(id)).toMatchObject(health)
    })
    expect(receiver.received.some(({ headers }) => headers.host === undefined)).toBe(false)
  })

  it('pause at once when the receiver is gone, and go on when they are resumed', async () => {
    const id = await create()
    receiver.answer = () => ({ status: 410 })
    const deal = await createDeal()
    await eventually(async () => expect(await read(id)).toMatchObject({ state: 'paused', pausedReason: 'gone' }))
    await eventually(async () => {
      const { body } = await stack.auth.send('/audit?limit=200', { token: admin })
      const entries = body.items as { action: string; target: string; outcome: string }[]
      expect(entries).toContainEqual(expect.objectContaining({ action: 'webhook.paused', target: id, outcome: 'gone' }))
    })
    receiver.answer = () => ({ status: 200 })
    await rename(deal, 'later')
    expect((await patch(id, { state: 'active' })).body).toMatchObject({ state: 'active', pausedReason: null })
    await eventually(() => expect(sequences(deal)).toEqual([1, 2]))
  })

  it('wait as long as an overloaded receiver asks, for all deals', async () => {
    const id = await create()
    receiver.answer = () => ({ status: 429, headers: { 'retry-after': '3600' } })
    const deal = await createDeal()
    await eventually(async () => expect((await healthOf(id)).nextAttemptAt).not.toBeNull())
    const next = Date.parse(String((await healthOf(id)).nextAttemptAt)) - stack.clock.now()
    expect(next / 1000).toBeGreaterThan(3_500)
    receiver.answer = () => ({ status: 200 })
    await createDeal()
    expect((await patch(id, { state: 'paused' })).body).toMatchObject({ state: 'paused', pausedReason: 'by-user' })
    expect(receiver.taken()).toEqual([])
    await patch(id, { state: 'active' })
    await eventually(() => expect(receiver.taken()).toHaveLength(2))
    expect(sequences(deal)).toEqual([1])
  })

  it('sign with both secrets for a day after a rotation', async () => {
    const id = await create()
    const { body } = await post(id, '/rotate-secret', {})
    rememberSecret(String(body.secret))
    expect(body.formerSecretUntil).not.toBeNull()
    const [former = ''] = receiver.secrets
    const deal = await createDeal()
    await eventually(() => expect(sequences(deal)).toEqual([1]))
    receiver.secrets.splice(0, 1, String(body.secret))
    await rename(deal, 'new secret')
    await eventually(() => expect(sequences(deal)).toEqual([1, 2]))
    // An event of another deal, from before, may come with one signature.
    const signatures = ofDeal(receiver.received, deal).map(({ headers }) => headers['webhook-signature'])
    expect(signatures.map((text) => text?.split(' ').length)).toEqual([2, 2])
    expect(former).not.toBe(body.secret)
  })

  it('deliver again what followed a position, with the same ids', async () => {
    const id = await create()
    const deal = await createDeal()
    for (const name of ['a', 'b']) await rename(deal, name)
    await eventually(() => expect(sequences(deal)).toEqual([1, 2, 3]))
    const [first, ...rest] = [...receiver.received]
    const after = String(first?.data.position)
    await eventually(async () => expect((await read(id)).position).toBe(rest.at(-1)?.data.position))
    await post(id, '/redeliver', { after })
    await eventually(() => expect(receiver.received).toHaveLength(5))
    expect(receiver.received.slice(3).map((one) => one.id)).toEqual(rest.map((one) => one.id))
    await eventually(async () => expect((await read(id)).position).toBe(rest.at(-1)?.data.position))
    await post(id, '/redeliver', { after: String(rest.at(-1)?.data.position) })
    for (const wrong of ['x', '-1', '999999999', 'AQIBqqqqqqqqAbu7u7u7uw']) {
      expectProblem(await post(id, '/redeliver', { after: wrong }, 422), 422, 'invalid-value')
    }
    expectProblem(await post(id, '/redeliver', { after: '1-000000000000' }, 400), 400, 'outdated-cursor')
    expect(receiver.received).toHaveLength(5)
  })

  it('send a test, also while paused', async () => {
    const id = await create()
    await patch(id, { state: 'paused' })
    const { body } = await post(id, '/test', {})
    expect(body).toMatchObject({ type: 'webhook.test', deal: null, outcome: 'delivered', status: 204 })
    expect(receiver.received).toMatchObject([{ type: 'webhook.test', data: { webhook: id } }])
    receiver.answer = () => ({ status: 500 })
    expect((await post(id, '/test', {})).body).toMatchObject({ outcome: 'failed', status: 500, reason: 'refused' })
    expect((await call(at(id, '/deliveries?limit=1'), 200)).body.items).toMatchObject([{ status: 500 }])
  })

  it.each([
    [
      'loses a right',
      (name: string) => asAdmin(`/users/${name}`, { rights: ['deal.read'] }),
      'responsible-lacks-right',
    ],
    ['is disabled', (name: string) => asAdmin(`/users/${name}`, { enabled: false }), 'responsible-disabled'],
    ['is deleted', (name: string) => asAdmin(`/users/${name}`, undefined, 'DELETE'), 'responsible-disabled'],
  ])('stop within moments when their user %s, until another one resumes them', async (_, change, reason) => {
    const { username, token } = await newUser(managing)
    const id = await create({}, token)
    const before = await createDeal()
    await eventually(() => expect(sequences(before)).toEqual([1]))
    await change(username)
    const after = await createDeal()
    await eventually(async () => expect(await read(id)).toMatchObject({ state: 'paused', pausedReason: reason }))
    expect(sequences(after)).toEqual([])
    expect((await patch(id, { state: 'active' })).body.responsible).toBe('admin')
    await eventually(() => expect(sequences(after)).toEqual([1]))
  })

  it('go on at another server when theirs ends', async () => {
    const [, second] = stack.deals
    const id = await create()
    const third = await stack.addDealServer()
    const deal = await createDeal(second)
    await eventually(() => expect(sequences(deal)).toEqual([1]))
    await stack.database.query('update deals.webhooks set lease_owner = null, lease_until = null')
    await rename(deal, 'other', third)
    await eventually(() => expect(sequences(deal)).toEqual([1, 2]))
    await eventually(async () => expect((await healthOf(id)).lagSeconds).toBe(0))
  })

  it('are listed in pages, changed and deleted', async () => {
    const ids = [await create({ description: 'first' }), await create()]
    const { body } = await call(`${collection}?limit=1`, 200)
    const next = await call(`${collection}?cursor=${body.nextCursor}`, 200)
    const items = [body, next.body].flatMap((page) => page.items as { id: string }[])
    expect(items.map((item) => item.id)).toEqual(ids)
    const changed = await patch(ids[0] ?? '', { types: ['deal.held'], description: null })
    expect(changed.body).toMatchObject({ types: ['deal.held'], description: null, url: receiver.url })
    await call(at(ids[1] ?? ''), 204, { method: 'DELETE' })
    for (const [method, below] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/deliveries'],
      ['POST', '/test'],
    ] as const) {
      expectProblem(await call(at(ids[1] ?? '', below), 404, { method }), 404, 'not-found')
    }
    // The server that had them looks for changes from time to time. From then on, only this one is sent the event.
    await create()
    await eventually(async () => {
      const deal = await createDeal()
      await eventually(() => expect(ofDeal(receiver.received, deal)).not.toEqual([]))
      await eventually(async () => expect((await healthOf(ids[0] ?? '')).lagSeconds).toBe(0))
      expect(ofDeal(receiver.received, deal)).toHaveLength(1)
    })
  })

  it.each([
    [{}, 400, 'invalid-body'],
    [{ url: 1 }, 400, 'invalid-body'],
    [{ url: 'https://receiver.example', secret: 'whsec_own' }, 400, 'invalid-body'],
    [{ url: 'nothing' }, 422, 'invalid-value'],
    [{ url: 'ftp://receiver.example' }, 422, 'invalid-value'],
    [{ url: 'https://user:word@receiver.example' }, 422, 'invalid-value'],
    [{ url: 'https://receiver.example/#part' }, 422, 'invalid-value'],
    [{ url: 'https://10.0.0.1/' }, 422, 'invalid-value'],
    [{ url: 'http://8.8.8.8/' }, 422, 'invalid-value'],
    [{ url: `https://receiver.example/${'x'.repeat(2_048)}` }, 422, 'invalid-value'],
    [{ url: 'https://receiver.example', types: ['deal.sold'] }, 422, 'invalid-value'],
    [{ url: 'https://receiver.example', types: ['deal.held', 'deal.held'] }, 422, 'invalid-value'],
    [{ url: 'https://receiver.example', deals: ['1'] }, 422, 'invalid-value'],
    [{ url: 'https://receiver.example', deals: Array(101).fill(randomUUID()) }, 422, 'invalid-value'],
    [{ url: 'https://receiver.example', after: 'x' }, 422, 'invalid-value'],
    [{ url: 'https://receiver.example', after: '999999999' }, 422, 'invalid-value'],
  ])('refuse %j', async (json, status, code) => {
    expectProblem(await stack.deal.send(collection, { token: admin, json }), status, code)
  })

  it('are not made without effect', async () => {
    const json = { url: receiver.url }
    expectProblem(await call(`${collection}?validateOnly=true`, 400, { json }), 400, 'invalid-parameter')
  })

  it('leave an entry in the audit log for each thing that a user does with them', async () => {
    const { body: created } = await call(collection, 201, { json: { url: 'http://127.0.0.1:9' } })
    const id = String(created.id)
    await call(at(id), 200, { method: 'PATCH', json: { state: 'paused' } })
    await call(at(id, '/rotate-secret'), 200, { json: {} })
    await call(at(id, '/redeliver'), 200, { json: { after: '0' } })
    const clerk = await asApplication(admin, { client_name: 'Clerk' })
    await call(at(id, '/test'), 200, { json: {}, token: clerk })
    await stack.deal.send(at(id), { token: admin, method: 'DELETE' })
    expect((await stack.deal.send(at(id), { token: admin, method: 'DELETE' })).status).toBe(404)
    const done = ['created', 'changed', 'secret-rotated', 'redelivered', 'tested', 'deleted']
    const entries = await eventually(async () => {
      const { body } = await stack.auth.send(`/audit?target=${id}`, { token: admin })
      const found = body.items as { action: string; client: string | null }[]
      expect(found.map(({ action }) => action)).toEqual(done.map((one) => `webhook.${one}`))
      return found
    })
    expect(entries.map(({ client }) => client)).toEqual([null, null, null, null, 'Clerk', null])
    for (const entry of entries)
      expect(entry).toMatchObject({ actor: 'admin', scheme: 'bearer', outcome: 'succeeded', address: '127.0.0.1' })
  })

  it('are 100 at most', async () => {
    const json = { url: 'https://receiver.example' }
    await patch(await create(json), { state: 'paused' })
    const copies = await stack.database.write(`insert into deals.webhooks
      select (json_populate_record(w, json_build_object('id', gen_random_uuid()))).*
      from deals.webhooks w, generate_series(1, 98) returning id`)
    expect(copies).toHaveLength(98)
    await create(json)
    expectProblem(await stack.deal.send(collection, { token: admin, json }), 409, 'too-many-webhooks')
    await stack.database.write('delete from deals.webhooks')
  })
})
