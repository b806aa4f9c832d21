import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { type EventClient, type EventClientOptions, openEvents } from '../../support/clients/event-client.ts'
import { expectProblem } from '../../support/clients/http-client.ts'
import { eventually } from '../../support/eventually.ts'
import { describeDealBackends } from '../../support/stores/citus.ts'
import { runCommand } from '../../support/worlds/deals-of-the-table.ts'
import { openStack, type Stack, type TestServer } from '../../support/worlds/stack.ts'

let stack: Stack
let alice: string
const open: EventClient[] = []

async function follow(
  options: Partial<EventClientOptions> = {},
  server: TestServer = stack.deal,
): Promise<EventClient> {
  const client = await openEvents(server, options.headers === undefined ? { token: alice, ...options } : options)
  open.push(client)
  return client
}

async function createDeal(server = stack.deal): Promise<string> {
  const id = randomUUID()
  const { status } = await server.send('/rest/v1/deals/', { token: alice, json: { id, name: 'deal', price: 1 } })
  expect(status).toBe(201)
  return id
}

const rename = (id: string, newName: string) => runCommand(stack, alice, 'RenameDeal', { id, newName })
const give = (id: string, employeeId: string) => runCommand(stack, alice, 'AssignOwner', { id, employeeId })

const subjects = ({ events }: EventClient) => events.map(({ data }) => data.subject)
const asAdmin = async (path: string, json: unknown, method = 'PATCH') => {
  const { access } = await stack.logIn('admin')
  const { status } = await stack.auth.send(path, { method, json, token: access })
  expect(status).toBeLessThan(300)
}
const newUser = async (roles: readonly string[]) => {
  const username = `user-${randomUUID().slice(0, 8)}`
  const password = `password of ${username}`
  await asAdmin('/users', { username, password, roles }, 'POST')
  return { username, token: (await stack.logIn(username, password)).access }
}

describeDealBackends('live events', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { dealServers: 2, eventStreams: { heartbeatMs: 500, pollMs: 30_000 } })
    alice = (await stack.logIn('alice')).access
  })
  afterAll(() => stack.close())
  afterEach(() => {
    for (const client of open.splice(0)) client.close()
  })

  it('tells what happens from now on, as it stands in the history', async () => {
    await createDeal()
    const client = await follow()
    expect(client.status).toBe(200)
    expect(client.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    const id = await createDeal()
    await rename(id, 'other')
    await client.until(({ events }) => events.length >= 2)
    const history = await stack.deal.send(`/rest/v1/deals/${id}/history`, { token: alice })
    expect(client.events.map(({ data }) => data)).toEqual(history.body.items)
    expect(client.events.map(({ event }) => event)).toEqual(['deal.created', 'deal.renamed'])
    for (const { id: eventId, data } of client.events) expect(eventId).toBe(data.position)
    expect(client.others[0]).toBe('retry: 1000')
    expect(client.others.filter((block) => block !== ':')).toHaveLength(1)
  })

  it('tells what happened at another server, without waiting for the next look', async () => {
    const [here, there] = await Promise.all(stack.deals.map((server) => follow({}, server)))
    const id = await createDeal(stack.deals[1])
    await Promise.all([here, there].map((client) => client?.until((one) => subjects(one).includes(id))))
  })

  it('begins at the beginning, or after a position', async () => {
    const id = await createDeal()
    for (const name of ['a', 'b', 'c']) await rename(id, name)
    const all = await follow({ query: `?after=0&deal=${id}` })
    await all.until(({ events }) => events.length === 4)
    const known = [...all.events]
    for (const [index, { id: position }] of known.entries()) {
      for (const way of [{ query: `?after=${position}` }, { lastEventId: position }]) {
        const rest = await follow({ ...way, query: `${way.query ?? '?after=0'}&deal=${id}` })
        await rest.until(({ events }) => events.length === known.length - index - 1)
        expect(rest.events).toEqual(known.slice(index + 1))
      }
    }
  })

  it('filters by the id of any deal that can be made', async () => {
    const id = randomUUID().replace(/^(.{14}).(.{4})./, '$1f$20')
    const json = { id, name: 'deal', price: 1 }
    expect((await stack.deal.send('/rest/v1/deals', { token: alice, json })).status).toBe(201)
    const client = await follow({ query: `?after=0&deal=${id}` })
    await client.until(({ events }) => events.length === 1)
    expect(subjects(client)).toEqual([id])
  })

  it('filters by deal and by type', async () => {
    const [one, other] = [await createDeal(), await createDeal()]
    const ofOne = await follow({ query: `?deal=${one.toUpperCase()}` })
    const renamed = await follow({ query: '?type=deal.renamed,deal.held' })
    const past = await follow({ query: `?after=0&type=deal.created&deal=${other}` })
    await rename(other, 'x')
    await rename(one, 'y')
    await ofOne.until(({ events }) => events.length === 1)
    await renamed.until(({ events }) => events.length === 2)
    await past.until(({ events }) => events.length === 1)
    expect(subjects(ofOne)).toEqual([one])
    expect(subjects(renamed)).toEqual([other, one])
    expect(past.events.map(({ event }) => event)).toEqual(['deal.created'])
  })

  it.each([
    ['?after=', 'after'],
    ['?after=-1', 'after'],
    ['?after=01', 'after'],
    ['?after=1e3', 'after'],
    ['?after=AQIBqqqqqqqqAbu7u7u7uw', 'after'],
    ['?after=999999999999999', 'after'],
    ['?after=99999999999999999999999', 'after'],
    ['?after=1&after=2', 'after'],
    ['?lastEventId=x', 'lastEventId'],
    ['?lastEventId=1&lastEventId=1', 'lastEventId'],
    ['?lastEventId=1&lastEventID=1', 'lastEventI'],
    ['?deal=1', 'deal'],
    ['?type=deal.sold', 'type'],
    ['?type=', 'type'],
    ['?type=deal.held,', 'type'],
    ['?surprise=1', 'surprise'],
  ])('refuses %s', async (query, name) => {
    const reply = await stack.deal.send(`/rest/v1/events${query}`, { token: alice })
    expectProblem(reply, 400, 'invalid-parameter')
    expect(JSON.stringify(reply.body)).toContain(name)
  })

  it('takes the place from where polyfills of EventSource put it, and from the field first', async () => {
    const id = await createDeal()
    for (const name of ['a', 'b', 'c']) await rename(id, name)
    const all = await follow({ query: `?after=0&deal=${id}` })
    await all.until(({ events }) => events.length === 4)
    const [first, second] = all.events.map((event) => event.id)
    const rest = async (query: string, field?: string) => {
      const lastEventId = field === undefined ? {} : { lastEventId: field }
      const client = await follow({ query: `?deal=${id}&after=0${query}`, ...lastEventId })
      expect([query, client.status]).toEqual([query, 200])
      await client.until(({ events }) => events.at(-1)?.data.sequence === 4)
      return client.events.length
    }
    const names = ['lastEventId', 'lastEventID', 'last-event-id', 'Last-Event-ID', 'last_event_id', 'evs_last_event_id']
    for (const name of names) expect(await rest(`&${name}=${second}`)).toBe(2)
    expect(await rest(`&lastEventId=${second}`, first)).toBe(3)
    expect(await rest('&lastEventId=')).toBe(4)
    expect(await rest('', '')).toBe(4)
    expect(await rest(`&lastEventId=${second}`, '')).toBe(2)
  })

  it.each(['x', '-1', '1, 2', '999999999999999'])('refuses Last-Event-ID %j', async (value) => {
    const headers = { 'last-event-id': value }
    const reply = await stack.deal.send('/rest/v1/events?after=0', { token: alice, headers })
    expectProblem(reply, 400, 'invalid-parameter')
    expect(reply.body.detail).toContain('Last-Event-ID')
  })

  it('tells of a deal that is deleted nothing but the deletion, until it is restored, unless the caller may restore', async () => {
    const viewer = (await newUser(['viewer'])).token
    const id = await createDeal()
    const live = await follow({ token: viewer, query: `?deal=${id}` })
    await rename(id, 'other')
    const change = async (verb: string, status: number) => {
      const reply = await stack.deal.send(`/rest/v1/deals/${id}/${verb}`, { token: alice, method: 'PUT', json: {} })
      expect(reply.status).toBe(status)
    }
    const read = async (token: string, count: number) => {
      const client = await follow({ token, query: `?after=0&deal=${id}` })
      await client.until(({ events }) => events.length >= count)
      return client.events.map(({ event }) => event.replace('deal.', ''))
    }
    const everything = ['created', 'renamed', 'deleted', 'restored']
    await live.until(({ events }) => events.length === 1)
    await change('delete', 204)
    const later = await createDeal()
    await live.until(({ events }) => events.length === 2)
    expect(live.events.map(({ event }) => event)).toEqual(['deal.renamed', 'deal.deleted'])
    expect(await read(viewer, 1)).toEqual(['deleted'])
    const whole = await follow({ token: viewer, query: '?after=0' })
    await whole.until((client) => subjects(client).includes(later))
    const ofDeal = whole.events.filter(({ data }) => data.subject === id)
    expect(ofDeal.map(({ event }) => event)).toEqual(['deal.deleted'])
    expect(await read(alice, 3)).toEqual(everything.slice(0, 3))
    await change('restore', 200)
    await live.until(({ events }) => events.length === 3)
    expect(await read(viewer, 4)).toEqual(everything)
  })

  it('has 16 streams a user, counts no HEAD, and is free again when one ends', async () => {
    const { token } = await newUser(['viewer'])
    for (let count = 0; count < 20; count += 1) await stack.deal.send('/rest/v1/events', { token, method: 'HEAD' })
    const clients = await Promise.all(Array.from({ length: 16 }, () => follow({ token })))
    expect(clients.map(({ status }) => status)).toEqual(Array(16).fill(200))
    const refused = await stack.deal.send('/rest/v1/events', { token })
    expectProblem(refused, 429, 'too-many-streams')
    expect(refused.headers.get('retry-after')).toBe('10')
    expect((await follow()).status).toBe(200)
    clients[0]?.close()
    await eventually(async () => expect((await follow({ token })).status).toBe(200))
  })

  it.each([
    ['the right is taken away', (name: string) => asAdmin(`/users/${name}`, { roles: [] })],
    ['all logins of the user are ended', (name: string) => asAdmin(`/users/${name}/logout`, undefined, 'POST')],
  ])('ends within moments when %s, and tells nothing more', async (_, change) => {
    const { username, token } = await newUser(['viewer'])
    const client = await follow({ token })
    const before = await createDeal()
    await client.until((one) => subjects(one).includes(before))
    await change(username)
    const after = await createDeal()
    await client.until(({ hasEnded }) => hasEnded)
    expect(subjects(client)).not.toContain(after)
  })

  it('ends with the login', async () => {
    const { access, refresh } = await stack.logIn('bob')
    const client = await follow({ token: access })
    expect((await stack.auth.send('/logout', { method: 'POST', token: refresh })).status).toBe(204)
    await client.until(({ hasEnded }) => hasEnded)
  })

  it('goes on for a caller whose other rights change', async () => {
    const { username, token } = await newUser(['agent'])
    const client = await follow({ token })
    await asAdmin(`/users/${username}`, { roles: ['viewer'] })
    const id = await createDeal()
    await client.until((one) => subjects(one).includes(id))
  })

  it('ends when the credential expires', async () => {
    const client = await follow({ token: (await stack.logIn('carol')).access })
    stack.clock.advanceSeconds(1801)
    await client.until(({ hasEnded }) => hasEnded)
    alice = (await stack.logIn('alice')).access
  })

  it('shows a seller own deals alone, from the beginning on too, and says when one is given away, and nothing else', async () => {
    const sam = await newUser(['seller'])
    const [foreign, kept, given] = [await createDeal(), await createDeal(), await createDeal()]
    await give(kept, sam.username)
    await give(given, sam.username)
    const clients = await Promise.all(stack.deals.map((server) => follow({ token: sam.token }, server)))
    await rename(foreign, 'unseen')
    await rename(given, 'seen')
    await give(given, 'alice')
    await rename(given, 'unseen')
    await rename(kept, 'last')
    const isLast = ({ events }: EventClient) => events.at(-1)?.data.subject === kept
    for (const client of clients) {
      await client.until(isLast)
      // The rename that came before is seen when it is read before the deal is given away.
      const seen = client.events.map(({ event, data }) => [event, data.subject])
      const [first, ...others] = seen[0]?.[0] === 'deal.renamed' ? seen : [['deal.renamed', given], ...seen]
      expect([first, ...others]).toEqual([
        ['deal.renamed', given],
        ['deal.given-away', given],
        ['deal.renamed', kept],
      ])
      const notice = client.events.find(({ event }) => event === 'deal.given-away')?.data
      expect(Object.keys(notice ?? {}).sort()).toEqual(
        [
          'specversion',
          'id',
          'source',
          'type',
          'subject',
          'time',
          'datacontenttype',
          'schemaversion',
          'position',
          'data',
        ].sort(),
      )
      expect(notice?.data).toEqual({})
    }
    const all = await follow({ token: sam.token, query: '?after=0' })
    await all.until(isLast)
    expect(new Set(subjects(all))).toEqual(new Set([kept, given]))
    expect(all.events.filter(({ data }) => data.subject === given).map(({ event }) => event)).toEqual([
      'deal.given-away',
    ])
    const ofForeign = await follow({ token: sam.token, query: `?after=0&deal=${foreign}` })
    const ofTypes = await follow({ token: sam.token, query: '?type=deal.held' })
    await give(kept, 'alice')
    await ofTypes.until(({ events }) => events.length > 0)
    expect(ofTypes.events.map(({ event }) => event)).toEqual(['deal.given-away'])
    expect(ofForeign.events).toEqual([])
  })

  it('narrows when the right to read all deals becomes one of own deals', async () => {
    const sam = await newUser(['viewer'])
    const client = await follow({ token: sam.token })
    const id = await createDeal()
    await client.until((one) => subjects(one).includes(id))
    await asAdmin(`/users/${sam.username}`, { roles: ['seller'] })
    await sleep(1_000)
    const foreign = await createDeal()
    await give(id, sam.username)
    await rename(id, 'own')
    await client.until(({ events }) => events.at(-1)?.event === 'deal.renamed')
    expect(subjects(client)).not.toContain(foreign)
  })
})
