/** What all lists of both servers have in common: pages, links, cursors, and what they refuse. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, type Reply } from '../support/clients/http-client.ts'
import { type Item, itemsOf, nextOf, walk } from '../support/clients/walk.ts'
import { describeDealBackends } from '../support/stores/citus.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'

let stack: Stack
let tokens: Record<'alice' | 'admin', string>
const dealId = randomUUID()

interface List {
  readonly title: string
  path(): string
  /** Another query of the same kind, whose cursors are not this one's; undefined where there is none. */
  other?(): string
  readonly server: 'auth' | 'deal'
  readonly isBare?: boolean
  /** The items in the order they must have: a value that rises from one to the next. */
  rank(item: Item): string
}

const padded = (value: unknown) => String(value).padStart(6, '0')
const rankOfTask = ({ dueDate, taskId }: Item) => `${dueDate ?? 'without'} ${taskId}`
const falling = (time: unknown) => String(8e15 - Date.parse(String(time)))

const lists: readonly List[] = [
  {
    title: 'deals',
    path: () => '/rest/v1/deals',
    other: () => '/rest/v1/deals?status=open',
    server: 'deal',
    rank: ({ createdAt }) => falling(createdAt),
  },
  {
    title: 'deals by filter',
    path: () => '/rest/v1/deals?q=Listed&sort=-name&currency=EUR&priceMax=100.5',
    other: () => '/rest/v1/deals?q=Listed&sort=name&currency=EUR&priceMax=100.5',
    server: 'deal',
    rank: ({ name }) => String(900 - Number(String(name).slice(-3))),
  },
  {
    title: 'history',
    path: () => `/rest/v1/deals/${dealId}/history`,
    other: () => `/rest/v1/deals/${dealId}/commands`,
    server: 'deal',
    rank: ({ sequence }) => padded(sequence),
  },
  {
    title: 'commands of a deal',
    path: () => `/rest/v1/deals/${dealId}/commands`,
    other: () => `/rest/v1/deals/${dealId}/history`,
    server: 'deal',
    rank: ({ requestedAt, id }) => `${requestedAt} ${id}`,
  },
  {
    title: 'query Deals',
    path: () => '/query/Deals/open',
    other: () => '/query/Deals/held',
    server: 'deal',
    isBare: true,
    rank: ({ createdAt }) => falling(createdAt),
  },
  {
    title: 'query AssignedTask',
    path: () => '/query/AssignedTask/Alice',
    other: () => '/query/AssignedTask/carol',
    server: 'deal',
    isBare: true,
    rank: rankOfTask,
  },
  {
    title: 'query DealHistory',
    path: () => `/query/DealHistory/${dealId}`,
    other: () => `/query/DealHistory/${randomUUID()}`,
    server: 'deal',
    isBare: true,
    rank: ({ sequence }) => padded(sequence),
  },
  { title: 'users', path: () => '/users', server: 'auth', rank: ({ username }) => String(username).toLowerCase() },
]

const send = ({ server }: List, path: string, method = 'GET') =>
  stack[server].send(path, { method, token: tokens[server === 'auth' ? 'admin' : 'alice'] })
const originOf = ({ server }: List) => (server === 'auth' ? stack.auth.url : 'http://deals.test')
const withQuery = (path: string, query: string) => `${path}${path.includes('?') ? '&' : '?'}${query}`
/** A cursor over an order that changes names a moment of the database, in which others write too. */
const withoutCursor = (link: string | null | undefined) => link?.replace(/cursor=[^&>]*/, 'cursor=…')
const cursorIn = (reply: Reply, list: List) =>
  new URL(nextOf(reply, originOf(list)) ?? '/', 'http://x').searchParams.get('cursor') ?? ''

/** Expects 400, the parameter named in the sentence and as a member. */
function expectNamed(reply: Reply, name: string, code = 'invalid-parameter'): void {
  expectProblem(reply, 400, code)
  expect(reply.body.errors).toEqual(
    expect.arrayContaining([
      { pointer: `/${name}`, code: expect.stringMatching(/^[a-z-]+$/), message: expect.stringMatching(/./) },
    ]),
  )
  expect(String(reply.body.detail)).toContain(name)
}

async function fill(): Promise<void> {
  const put = async (path: string, json: unknown) => {
    const reply = await stack.deal.send(path, { token: tokens.alice, method: 'PUT', json })
    expect(reply.status, reply.text).toBeLessThan(300)
  }
  for (let n = 0; n < 12; n += 1) {
    const id = n === 0 ? dealId : randomUUID()
    const name = `listed ${padded(n).slice(-3)}`
    await put(`/commands/${randomUUID()}`, { action: 'CreateDeal', deal: id, params: { name, price: 100.5 } })
    const dueDate = n % 3 ? null : `2030-01-${10 + n}`
    await put(`/rest/v1/deals/${id}/add-task`, { taskId: randomUUID(), title: 'call', assigneeId: 'alice', dueDate })
    await put(`/rest/v1/deals/${dealId}/commands/hold-${n}`, {
      action: 'HoldDeal',
      params: { reason: `reason ${n}`, reasonCode: 'r' },
    })
  }
  for (const user of ['Erin', 'frank', 'Grace']) {
    const json = { username: user, password: `a long enough secret of ${user}` }
    expect((await stack.auth.send('/users', { token: tokens.admin, json })).status).toBe(201)
  }
}

describeDealBackends('lists', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true, logLevel: 'silent' })
    const [alice, admin] = await Promise.all([stack.logIn('alice'), stack.logIn('admin')])
    tokens = { alice: alice.access, admin: admin.access }
    await fill()
  })
  afterAll(() => stack.close())

  describe.each(lists)('of $title', (list) => {
    it('give each item once and in order, for every page size', async () => {
      const whole = await send(list, withQuery(list.path(), 'limit=200'))
      const items = itemsOf(whole)
      expect(whole.text.startsWith('[')).toBe(list.isBare === true)
      expect(nextOf(whole, originOf(list))).toBeUndefined()
      expect(items.length).toBeGreaterThan(8)
      const ranks = items.map(list.rank)
      expect(ranks).toEqual([...ranks].sort())
      for (const limit of [1, 2, 5, items.length - 1, items.length]) {
        const path = withQuery(list.path(), `limit=${limit}`)
        const walked = await walk(path, { send: (next) => send(list, next), origin: originOf(list) })
        expect(walked.items).toEqual(items)
        expect(walked.sizes.length).toBe(Math.ceil(items.length / limit))
      }
    })

    it('keep the query in the link, except the parameters of a signature', async () => {
      const query = 'limit=2&timestamp=1&NONCE=n&nonce=again'
      const reply = await send(list, withQuery(list.path(), query))
      expect(reply.status, reply.text).toBe(200)
      const next = nextOf(reply, originOf(list)) ?? ''
      const plain = await send(list, withQuery(list.path(), 'limit=2'))
      expect(withoutCursor(next)).toBe(withoutCursor(nextOf(plain, originOf(list))))
      const asked = new URLSearchParams(list.path().split('?')[1])
      const linked = new URLSearchParams(next.split('?')[1])
      expect([...linked]).toEqual([...asked, ['limit', '2'], ['cursor', expect.stringMatching(/./)]])
      const signedAgain = await send(list, `${next}&timestamp=2&nonce=other`)
      expect(itemsOf(signedAgain)).toEqual(itemsOf(await send(list, next)))
    })

    it('answer HEAD as GET, without the body', async () => {
      const path = withQuery(list.path(), 'limit=2')
      const [got, headed] = await Promise.all([send(list, path), send(list, path, 'HEAD')])
      expect([headed.status, headed.text]).toEqual([200, ''])
      expect(withoutCursor(headed.headers.get('link'))).toBe(withoutCursor(got.headers.get('link')))
    })

    it('continue with another limit', async () => {
      const cursor = cursorIn(await send(list, withQuery(list.path(), 'limit=3')), list)
      const rest = await send(list, withQuery(list.path(), `limit=200&cursor=${cursor}`))
      const items = itemsOf(await send(list, withQuery(list.path(), 'limit=200')))
      expect(itemsOf(rest)).toEqual(items.slice(3))
    })

    it('refuse a cursor that was changed, truncated or invented', async () => {
      const cursor = cursorIn(await send(list, withQuery(list.path(), 'limit=1')), list)
      const step = list.title === 'deals' ? 1 : 11
      const bad = ['', 'x', 'null', cursor.slice(0, -1), cursor.slice(1), `${cursor}A`, `${cursor}=`, `${cursor}%00`]
      for (let index = 0; index < cursor.length; index += step) {
        const other = cursor[index] === 'A' ? 'B' : 'A'
        bad.push(cursor.slice(0, index) + other + cursor.slice(index + 1))
      }
      bad.push(Buffer.from('"alice"').toString('base64url'), Buffer.from('x'.repeat(40)).toString('base64url'))
      for (const one of bad) {
        expectNamed(await send(list, withQuery(list.path(), `cursor=${one}`)), 'cursor', 'invalid-cursor')
      }
      expect((await send(list, withQuery(list.path(), `cursor=${cursor}`))).status).toBe(200)
    })

    it('refuse the cursor of another query', async () => {
      const cursor = cursorIn(await send(list, withQuery(list.path(), 'limit=1')), list)
      const others = lists.filter(({ title }) => title !== list.title).filter((other) => !sharesCursors(list, other))
      for (const path of [
        list.other?.(),
        ...others.filter(({ server }) => server === list.server).map((o) => o.path()),
      ]) {
        if (path === undefined) continue
        expectNamed(await send(list, withQuery(path, `cursor=${cursor}`)), 'cursor', 'invalid-cursor')
      }
      for (const other of others.filter(({ server }) => server !== list.server)) {
        expectNamed(await send(other, withQuery(other.path(), `cursor=${cursor}`)), 'cursor', 'invalid-cursor')
      }
    })

    it.each(['0', '201', '-1', '1.5', '1e2', '', 'all', '0050', ' 5', '５', '999'])(
      'refuse limit=%s',
      async (limit) => {
        expectNamed(await send(list, withQuery(list.path(), `limit=${encodeURIComponent(limit)}`)), 'limit')
      },
    )

    it.each(['page', 'Limit', 'CURSOR', 'offset', '__proto__', 'constructor'])(
      'refuse the parameter %s',
      async (name) => {
        expectNamed(await send(list, withQuery(list.path(), `${name}=1`)), name)
      },
    )

    it('refuse a repeated parameter', async () => {
      expectNamed(await send(list, withQuery(list.path(), 'limit=1&limit=1')), 'limit')
      const cursor = cursorIn(await send(list, withQuery(list.path(), 'limit=1')), list)
      expectNamed(await send(list, withQuery(list.path(), `cursor=${cursor}&cursor=${cursor}`)), 'cursor')
    })
  })

  describe('of deals', () => {
    it.each([
      ['status', 'status=closed'],
      ['status', 'status=open&status=completed'],
      ['status', 'status='],
      ['held', 'held=yes'],
      ['ownerId', 'ownerId=with%20blank'],
      ['ownerId', 'ownerId='],
      ['currency', 'currency=eur'],
      ['currency', 'currency=XXXX'],
      ['currency', 'priceMin=1'],
      ['currency', 'priceMax=1'],
      ['currency', 'sort=price'],
      ['currency', 'sort=-price'],
      ['priceMin', 'currency=EUR&priceMin=1.001'],
      ['priceMin', 'currency=JPY&priceMin=1.5'],
      ['priceMin', 'currency=EUR&priceMin=-1'],
      ['priceMax', 'currency=EUR&priceMax=1e3'],
      ['priceMax', 'currency=EUR&priceMax=9999999999999'],
      ['priceMax', 'currency=EUR&priceMax='],
      ['completionFrom', 'completionFrom=2030-02-30'],
      ['completionTo', 'completionTo=30.01.2030'],
      ['completionTo', 'completionTo=1999-12-31'],
      ['q', 'q='],
      ['q', 'q=%00'],
      ['q', `q=${'x'.repeat(201)}`],
      ['sort', 'sort=id'],
      ['sort', 'sort=--name'],
      ['sort', 'sort=%2Bname'],
      ['sort', 'sort=Name'],
      ['sort', 'sort=name,price'],
      ['sort', 'sort='],
      ['sort', 'sort=name&sort=price'],
      ['expand', 'expand=allowed'],
    ])('names %s as wrong in ?%s', async (name, query) => {
      expectNamed(await stack.deal.send(`/rest/v1/deals?${query}`, { token: tokens.alice }), name)
    })

    it('accepts a cursor for every spelling of the same query', async () => {
      const get = (query: string) => stack.deal.send(`/rest/v1/deals?${query}`, { token: tokens.alice })
      const first = await get('sort=-createdAt&ownerId=ALICE&currency=EUR&priceMin=1.50&limit=2')
      const cursor = first.body.nextCursor
      const again = await get(`cursor=${cursor}&priceMin=1.5&currency=EUR&ownerId=alice`)
      expect(again.status, again.text).toBe(200)
      expectProblem(await get(`cursor=${cursor}&priceMin=1.51&currency=EUR&ownerId=alice`), 400, 'invalid-cursor')
    })

    it('refuses before rights, and a walk continues in the other style', async () => {
      const first = await stack.deal.send('/rest/v1/deals?status=open&limit=2', { token: tokens.alice })
      const second = await stack.deal.send(`/query/Deals/open?cursor=${first.body.nextCursor}`, { token: tokens.alice })
      expect(second.status).toBe(200)
      const dave = (await stack.logIn('dave')).access
      expectNamed(await stack.deal.send('/rest/v1/deals?sort=x', { token: dave }), 'sort')
      expectProblem(await stack.deal.send('/rest/v1/deals', { token: dave }), 403, 'missing-right')
    })
  })

  it('of a deal that never existed are 404, of a deal without commands empty', async () => {
    const get = (path: string) => stack.deal.send(path, { token: tokens.alice })
    expectProblem(await get(`/rest/v1/deals/${randomUUID()}/history`), 404, 'not-found')
    expectProblem(await get(`/query/DealHistory/${randomUUID()}`), 404, 'not-found')
    expectProblem(await get(`/rest/v1/deals/${randomUUID()}/commands`), 404, 'not-found')
    const json = { id: randomUUID(), name: 'without commands', price: 1 }
    await stack.deal.send('/rest/v1/deals', { token: tokens.alice, json })
    expect((await get(`/rest/v1/deals/${json.id}/commands`)).body).toEqual({ items: [], nextCursor: null })
  })
})

/** One list in two styles: the history of the same deal. */
function sharesCursors(a: List, b: List): boolean {
  const histories = ['history', 'query DealHistory']
  return histories.includes(a.title) && histories.includes(b.title)
}
