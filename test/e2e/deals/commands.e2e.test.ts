import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { expectProblem, expectProblemForm, type Reply, type Sent } from '../../support/clients/http-client.ts'
import { describeBackends, describePostgresAndRedis } from '../../support/stores/backends.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let alice: string
let key: string

const ask = (path: string, sent: Sent = {}) => stack.deal.send(path, { token: alice, ...sent })
/** A command with the key of this test. */
const command = (path: string, json: unknown, more: Sent = {}) =>
  ask(path, { method: 'PUT', json, ...more, headers: { 'idempotency-key': key, ...more.headers } })
const post = (json: unknown, more: Sent = {}) => command('/rest/v1/deals', json, { method: 'POST', ...more })

const create = async (): Promise<string> => {
  const { status, headers } = await ask('/rest/v1/deals', { json: { name: 'deal123', price: 1234 } })
  expect(status).toBe(201)
  return String(headers.get('location'))
}

const eventsOf = (path: string) =>
  stack.database.query<{ sequence: number; dealVersion: number; type: string }>(
    `select sequence, deal_version as "dealVersion", type from deals.events where deal_id = $1::text::uuid
     order by sequence`,
    [path.slice(-36)],
  )

/** How often something was done, or kept, under a key. */
const traces = async (ofKey: string) => {
  const [row] = await stack.database.query<{ events: number; commands: number }>(
    `select (select count(*)::int from deals.events where command_id = $1) as events,
       (select count(*)::int from deals.commands where command_id = $1) as commands`,
    [ofKey],
  )
  return row
}

const expectReplay = (replay: Reply, first: Reply): void => {
  expect({ status: replay.status, text: replay.text }).toEqual({ status: first.status, text: first.text })
  expect(replay.headers.get('idempotent-replayed')).toBe('true')
  expect(first.headers.get('idempotent-replayed')).toBeNull()
  for (const name of ['etag', 'location', 'deal-changed', 'content-type']) {
    expect(replay.headers.get(name)).toBe(first.headers.get(name))
  }
}

describeBackends('commands with an Idempotency-Key', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { dealServers: 2 })
    alice = (await stack.logIn('alice')).access
  })
  afterAll(() => stack.close())
  beforeEach(() => {
    key = `key-${randomUUID()}`
  })

  it('replays a creation byte for byte, at either server, whatever has become of the deal', async () => {
    const first = await post({ name: 'deal123', price: 1234 })
    expect(first.status).toBe(201)
    await ask(`${first.headers.get('location')}/hold`, { method: 'PUT', json: { reason: 'later' } })
    expectReplay(await post({ name: 'deal123', price: 1234 }), first)
    await ask(String(first.headers.get('location')), { method: 'DELETE' })
    const [, other = stack.deal] = stack.deals
    const json = { price: '1234.00', name: ' deal123 ' }
    const sent = { token: alice, json, headers: { 'idempotency-key': key } }
    expectReplay(await other.send('/rest/v1/deals', sent), first)
    expect(await traces(key)).toEqual({ events: 1, commands: 1 })
  })

  it('replays through another form of the same command', async () => {
    const [path, id] = [`/rest/v1/deals/${randomUUID()}`, randomUUID()]
    const deleted = { first: await command(`${await create()}/delete`, {}), again: undefined }
    expect(deleted.first.status).toBe(204)
    key = `key-${randomUUID()}`
    const created = await command(`${path}/create`, { name: 'deal123', price: 1 })
    expectReplay(await post({ id: path.slice(-36), name: 'deal123', price: 1 }), created)
    key = `key-${randomUUID()}`
    const posted = await post({ id, name: 'deal123', price: 1 })
    expectReplay(await command(`/rest/v1/deals/${id}/create`, { name: 'deal123', price: 1 }), posted)
  })

  it('replays before it looks at preconditions', async () => {
    const path = await create()
    const first = await command(`${path}/hold`, { reason: 'test' }, { headers: { 'if-match': '"1"' } })
    expect(first.status).toBe(200)
    expectReplay(await command(`${path}/hold`, { reason: 'test' }, { headers: { 'if-match': '"1"' } }), first)
  })

  describe('refusals', () => {
    it('keeps a refusal by the value that only the decision can see', async () => {
      const first = await post({ name: 'deal123', price: 1.234 })
      expectProblem(first, 422, 'invalid-value')
      expect(first.body).toMatchObject({ final: true, errors: [{ pointer: '/price', code: 'currency-scale' }] })
      expectReplay(await post({ name: 'deal123', price: 1.234 }), first)
    })

    it.each<[number, (path: string) => Promise<Reply>]>([
      [400, (path) => command(`${path}/hold`, { reason: 1 })],
      [401, (path) => command(`${path}/hold`, { reason: 'test' }, { token: 'junk' })],
      [403, async (path) => command(path, undefined, { method: 'DELETE', token: (await stack.logIn('carol')).access })],
      [404, () => command(`/rest/v1/deals/${randomUUID()}/hold`, { reason: 'test' })],
      [412, (path) => command(`${path}/hold`, { reason: 'test' }, { headers: { 'if-match': '"9"' } })],
      [422, (path) => command(`${path}/hold`, { reason: '' })],
    ])('does not keep a %d: the same key then works', async (status, attempt) => {
      const path = await create()
      const refused = await attempt(path)
      expect(refused.status).toBe(status)
      expectProblemForm(refused)
      expect(refused.body.final).not.toBe(true)
      const held = await command(`${path}/hold`, { reason: 'test' })
      expect({ status: held.status, replayed: held.headers.get('idempotent-replayed') }).toEqual({
        status: 200,
        replayed: null,
      })
    })

    it.each(['', ' ', 'a b', 'ä', 'x'.repeat(129), '"a"b"', 'a,b'])('refuses the key %j', async (bad) => {
      const reply = await post({ name: 'deal123', price: 1 }, { headers: { 'idempotency-key': bad } })
      expectProblem(reply, 400, 'invalid-parameter')
    })
  })

  describe('at the same time', () => {
    const duplicates = (send: (index: number) => Promise<Reply>) =>
      Promise.all(Array.from({ length: 50 }, (_, index) => send(index)))

    const expectOneEffect = async (replies: readonly Reply[]): Promise<void> => {
      const [first] = replies
      expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
      expect(replies.filter(({ headers }) => headers.get('idempotent-replayed') === null).length).toBe(1)
      expect(first?.status).toBeLessThan(300)
      expect(await traces(key)).toEqual({ events: 1, commands: 1 })
    }

    it.each(['chosen by the client', 'left to the server'])('50 copies of one creation, its id %s', async (whose) => {
      const json = { ...(whose === 'left to the server' ? {} : { id: randomUUID() }), name: 'deal123', price: 1 }
      const sent = { token: alice, json, headers: { 'idempotency-key': key } }
      const at = (index: number) => stack.deals[index % 2] ?? stack.deal
      await expectOneEffect(await duplicates((index) => at(index).send('/rest/v1/deals', sent)))
    })

    it('50 copies of one refusal: kept once, 50 equal answers', async () => {
      const path = await create()
      const json = { id: path.slice(-36), name: 'deal123', price: 1 }
      const sent = { token: alice, json, headers: { 'idempotency-key': key } }
      const replies = await duplicates((index) => (stack.deals[index % 2] ?? stack.deal).send('/rest/v1/deals', sent))
      expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
      expectProblem(replies[0] as Reply, 409, 'deal-exists')
      expect(await traces(key)).toEqual({ events: 0, commands: 1 })
    })

    it('20 creations of one id with keys of their own: one deal, 19 refusals', async () => {
      const id = randomUUID()
      const replies = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          (stack.deals[index % 2] ?? stack.deal).send('/rest/v1/deals', {
            token: alice,
            json: { id, name: `deal-${index}`, price: index },
            headers: { 'idempotency-key': `${key}-${index}` },
          }),
        ),
      )
      expect(replies.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(409)])
      expect((await eventsOf(id)).length).toBe(1)
    })
  })
})

describePostgresAndRedis('different commands on one deal at the same time', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { dealServers: 2 })
    alice = (await stack.logIn('alice')).access
  })
  afterAll(() => stack.close())

  it.each([1, 2, 3, 4, 5])(
    '20 holds through two deal servers: version and sequence without gaps (round %d)',
    async () => {
      const path = await create()
      const replies = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          (stack.deals[index % 2] ?? stack.deal).send(`${path}/hold`, {
            method: 'PUT',
            token: alice,
            json: { reason: `reason ${index}` },
          }),
        ),
      )
      expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(200))
      const versions = replies.map(({ body }) => Number(body.version)).sort((a, b) => a - b)
      expect(versions).toEqual(Array.from({ length: 20 }, (_, index) => index + 2))
      const events = await eventsOf(path)
      expect(events.map(({ sequence, dealVersion }) => [sequence, dealVersion])).toEqual(
        [1, ...versions].map((version) => [version, version]),
      )
      const last = replies.find(({ body }) => body.version === 21)
      expect((await ask(path)).text).toBe(last?.text)
    },
  )
})
