/** A deal server whose deals are on two shards (docs/sharding.md). */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { positionText } from '../../deal-server/events/feed-position.ts'
import { shardOfDeal } from '../../deal-server/store/shards/shard-of.ts'
import { openEvents } from '../support/clients/event-client.ts'
import { expectProblem } from '../support/clients/http-client.ts'
import { styleClients } from '../support/clients/style-clients.ts'
import { itemsOf, walk } from '../support/clients/walk.ts'
import { shards } from '../support/stores/plproxy.ts'
import { describeShards } from '../support/stores/shards.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'
import { freeTask } from '../support/worlds/transition-table.ts'
import { makeTwin, type SendRequest, sendAs } from '../support/worlds/twins.ts'

/** What each style can be asked, if it has it. */
const useCases: readonly (readonly [useCase: string, params: Readonly<Record<string, unknown>>])[] = [
  ['RenameDeal', { newName: 'renamed' }],
  ['HoldDeal', { reason: 'test' }],
  ['CompleteTask', { taskId: freeTask, result: 'called' }],
]

describeShards('a deal server with two shards', (openBackend) => {
  let stack: Stack
  let alice: string
  let send: SendRequest

  beforeAll(async () => {
    stack = await openStack(openBackend)
    alice = (await stack.logIn('alice')).access
    send = sendAs(stack.deal, alice)
  })
  afterAll(() => stack.close())

  const get = (path: string) => send({ path, sent: {} })
  const pages = () => ({ send: get, origin: 'http://deals.test' })

  for (const { style, title, request } of styleClients) {
    it(`carries commands out once: ${title}`, async () => {
      for (const [useCase, params] of useCases) {
        const { dealId, path, read } = await makeTwin(send, 'OPEN')
        const sending = { useCase, dealId, params, commandId: randomUUID(), read }
        const sent = request(sending)
        if (!sent) continue
        const reply = await send(sent)
        expect([useCase, reply.status < 300, reply.headers.get('idempotent-replayed')]).toEqual([useCase, true, null])
        const again = await send(sent)
        expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([reply.text, 'true'])
        const history = itemsOf(await get(`${path}/history`))
        const last = history.at(-1)
        expect([last?.useCase, last?.style, last?.commandid]).toEqual([useCase, style, sending.commandId])
        const other = await makeTwin(send, 'OPEN')
        const reused = request({ ...sending, dealId: other.dealId, read: { ...other.read, name: 'other' } })
        if (reused) expectProblem(await send(reused), 422, 'command-id-reused')
      }
    })
  }

  it('creates a deal once, whatever shards the two ids are on', async () => {
    const found = new Set<number>()
    for (let round = 0; round < 8 || (found.size < shards && round < 60); round += 1) {
      const headers = { 'idempotency-key': randomUUID() }
      const create = () => send({ path: '/rest/v1/deals', sent: { json: { name: 'new', price: 1 }, headers } })
      const [one, other] = await Promise.all([create(), create()])
      expect([one.status, other.status, other.text]).toEqual([201, 201, one.text])
      const id = String(one.body.id)
      found.add(shardOfDeal(id, shards))
      expect((await get(`/rest/v1/deals/${id}`)).body).toMatchObject({ id, name: 'new' })
      expect(itemsOf(await get(`/query/Deal/${id}`))).toHaveLength(1)
    }
    expect(found.size).toBe(shards)
  })

  it('lists, counts and sums the deals of all shards', async () => {
    const ids: string[] = []
    for (let index = 0; index < 20; index += 1) {
      const json = { name: `listed ${index % 4}`, price: index, currency: 'JPY' }
      ids.push(String((await send({ path: '/rest/v1/deals', sent: { json } })).body.id))
    }
    for (const sort of ['-createdAt', 'name', '-price']) {
      const { items } = await walk(`/rest/v1/deals?currency=JPY&sort=${sort}&limit=3`, pages())
      expect(items.map(({ id }) => id).sort()).toEqual([...ids].sort())
      if (sort === '-price') expect(items.map(({ price }) => price)).toEqual(ids.map((_, index) => 19 - index))
    }
    const headers = { prefer: 'count=exact' }
    const counted = await send({ path: '/rest/v1/deals?currency=JPY&limit=1', sent: { headers } })
    expect(counted.headers.get('total-count') ?? counted.text).toContain('20')
    const { body } = await get('/rest/v1/deals/summary?currency=JPY')
    expect(body).toMatchObject({ totalCount: 20 })
    const batch = ids.map((id) =>
      JSON.stringify({ id: randomUUID(), deal: id, action: 'HoldDeal', params: { reason: 'x' } }),
    )
    const sent = { method: 'POST', body: batch.join('\n'), headers: { 'content-type': 'application/x-ndjson' } }
    expect((await send({ path: '/commands', sent })).status).toBe(200)
    expect(itemsOf(await get('/rest/v1/deals?currency=JPY&held=true&limit=100'))).toHaveLength(20)
  })

  it('lists the tasks of a user on all shards', async () => {
    const twins = await Promise.all(Array.from({ length: 6 }, () => makeTwin(send, 'OPEN')))
    const { items } = await walk('/query/AssignedTask/alice?limit=7', pages())
    const ids = items.map(({ dealId }) => dealId)
    expect(new Set(ids).size).toBe(ids.length)
    for (const { dealId } of twins) expect(ids).toContain(dealId)
  })

  it('takes a position in the history of a deal for a stream of this deal alone', async () => {
    const created = await send({ path: '/rest/v1/deals', sent: { json: { name: 'followed', price: 1 } } })
    const deal = String(created.body.id)
    await send({ path: `/rest/v1/deals/${deal}/rename`, sent: { method: 'PUT', json: { newName: 'other' } } })
    const [first, second] = itemsOf(await get(`/rest/v1/deals/${deal}/history`))
    const position = String(first?.position)
    const client = await openEvents(stack.deal, { token: alice, query: `?deal=${deal}&after=${position}` })
    await client.until(({ events }) => events.length === 1)
    expect(client.events).toMatchObject([{ id: second?.position, data: second }])
    client.close()
    const refused = await get(`/rest/v1/events?after=${position}`)
    expectProblem(refused, 400, 'invalid-parameter')
    expect(refused.body.detail).toContain('use it with the deal of the event')
    const ofFour = positionText(Array(4).fill({ position: 1, mark: 'a'.repeat(12) }))
    const other = await get(`/rest/v1/events?after=${ofFour}`)
    expectProblem(other, 400, 'invalid-parameter')
    expect(other.body.detail).toContain('A position of 4 shards; the server has 2.')
  })

  it('names each shard in its readiness', async () => {
    const { status, body } = await stack.deal.send('/readyz')
    const names = (body.dependencies as { name: string }[]).map(({ name }) => name)
    expect([status, names]).toEqual([200, expect.arrayContaining(['shard-0', 'shard-1'])])
  })
})
