/**
 * GET of the deals: every order, filter and page size over many deals with equal and missing values, at rest and while
 * they change.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dealSortKeys } from '../../deal-server/queries/ports.ts'
import { type Item, itemsOf, walk } from '../support/clients/walk.ts'
import { describeBackends } from '../support/stores/backends.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'

let stack: Stack
let token: string
/** Every deal at rest. */
let deals: Item[]

const origin = 'http://deals.test'
/** The embedded database is slower, and orders like PostgreSQL: fewer deals show that. */
let count = 1000
const list = '/rest/v1/deals'
const names = ['beta', 'Alpha', 'alpha', 'Zulu', 'Ärger', 'ﬀ', '😀', 'a_b', 'a%b', 'a\\b', 'a b']
const orders = dealSortKeys.flatMap((key) => [key, `-${key}`])
const currencyFor = (order: string) => (order.endsWith('price') ? '&currency=EUR' : '')

let turn = 0
/** By several servers in turn: a cursor of one is good at all. */
const send = (path: string) => {
  turn += 1
  return (stack.deals[turn % stack.deals.length] ?? stack.deal).send(path, { token })
}
const walkFrom = (path: string, between?: (page: number) => Promise<void>) =>
  walk(path, { send, origin, ...(between && { between }) })
const post = async (path: string, json: unknown, allowed = [200]) => {
  const reply = await stack.deal.send(path, { token, method: 'POST', json })
  expect(allowed, `${path}: ${reply.text}`).toContain(reply.status)
  return reply
}

/**
 * The order that the contract promises: text by its UTF-8 bytes, missing values last either way, ties by id in the
 * direction of the order.
 */
function inOrder(items: readonly Item[], order: string): Item[] {
  const key = order.replace('-', '')
  const sign = order.startsWith('-') ? -1 : 1
  const compare = (a: unknown, b: unknown) =>
    typeof a === 'number' ? a - Number(b) : Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)))
  return [...items].sort((a, b) => {
    const [first, second] = [a[key], b[key]]
    if ((first === null) !== (second === null)) return first === null ? 1 : -1
    return sign * ((first === null ? 0 : compare(first, second)) || compare(a.id, b.id))
  })
}

const idsOf = (items: readonly Item[]) => items.map(({ id }) => id)

/** Makes deals with few different values; some are held, completed or cancelled. */
async function makeDeals(): Promise<void> {
  const make = async (n: number) => {
    const id = randomUUID()
    const name = names[n % names.length]
    const completionDate = n % 3 === 0 ? null : `2030-01-0${1 + (n % 4)}`
    const ownerId = ['alice', 'carol', 'bob'][n % 3]
    const currency = n % 10 === 0 ? 'JPY' : 'EUR'
    await post(list, { id, name, price: n % 4, completionDate, ownerId, currency }, [201])
    if (n % 13 === 0) await post(`${list}/${id}/hold`, { reason: 'later' })
    else if (n % 17 === 0) await post(`${list}/${id}/complete`, {})
    else if (n % 19 === 0) await post(`${list}/${id}/cancel`, { penaltyAmount: 0, reason: 'over' })
  }
  const worker = async (first: number) => {
    for (let n = first; n < count; n += 10) await make(n)
  }
  await Promise.all(Array.from({ length: 10 }, (_, first) => worker(first)))
}

let changes = 0
/** Changes a value that deals are sorted by; one that this deal's state refuses is no harm. */
function change(id: unknown): Promise<unknown> {
  changes += 1
  const n = changes
  const reason = `because ${n}`
  const ways: [string, unknown][] = [
    ['rename', { newName: `${names[n % names.length]} ${n % 3}` }],
    ['change-price', { newPrice: n % 7, reason }],
    [
      'change-completion-date',
      { newDate: n % 2 ? null : `2030-01-0${1 + (n % 7)}`, penaltyAmount: 0, whyChanged: reason },
    ],
    ['assign-owner', { employeeId: ['alice', 'carol', 'bob', 'admin'][n % 4] }],
    ['complete', {}],
    ['reopen', { reason }],
    ['cancel', { penaltyAmount: 0, reason }],
    ['hold', { reason }],
    ['unhold', {}],
  ]
  const [verb, params] = ways[n % ways.length] ?? ['unhold', {}]
  return post(`${list}/${id}/${verb}`, params, [200, 409])
}

const create = (n: number) => {
  const completionDate = n % 2 ? null : '2030-01-02'
  return post(list, { name: names[n % names.length], price: n % 4, completionDate, ownerId: 'carol' }, [201])
}

describeBackends('walks over the deals', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true, dealServers: 2, logLevel: 'silent' })
    token = (await stack.logIn('alice')).access
    count = stack.redis === undefined ? 300 : 1000
    await makeDeals()
    deals = (await walkFrom(`${list}?limit=200`)).items as Item[]
  }, 240_000)
  afterAll(() => stack.close())

  describe('at rest', () => {
    it('shows every deal, without its tasks, newest first', async () => {
      expect(new Set(idsOf(deals)).size).toBe(count)
      expect(idsOf(deals)).toEqual(idsOf(inOrder(deals, '-createdAt')))
      expect(deals.filter((deal) => 'tasks' in deal)).toEqual([])
      expect(itemsOf(await send(list))).toEqual(deals.slice(0, 50))
    })

    it.each(orders)('gives each deal once in the order %s, for every page size', async (order) => {
      const asked = order.endsWith('price') ? deals.filter(({ currency }) => currency === 'EUR') : deals
      const expected = idsOf(inOrder(asked, order))
      for (const limit of [200, 37]) {
        const { items, sizes } = await walkFrom(`${list}?sort=${order}&limit=${limit}${currencyFor(order)}`)
        expect(idsOf(items)).toEqual(expected)
        expect(sizes.slice(0, -1).every((size) => size === limit)).toBe(true)
        expect(sizes.length).toBe(Math.ceil(expected.length / limit))
      }
    })

    it.each(orders)('continues with another page size, also 1, in the order %s', async (order) => {
      const path = `${list}?sort=${order}&q=A_B&currency=EUR`
      const { items } = await walkFrom(`${path}&limit=1`)
      const expected = deals.filter(({ name, currency }) => name === 'a_b' && currency === 'EUR')
      expect(idsOf(items)).toEqual(idsOf(inOrder(expected, order)))
      const first = await send(`${path}&limit=5`)
      const rest = await send(`${path}&limit=200&cursor=${first.body.nextCursor}`)
      expect([...itemsOf(first), ...itemsOf(rest)]).toEqual(items)
    })
  })

  describe('filtered', () => {
    const price = (deal: Item) => (deal.currency === 'EUR' ? Number(deal.price) : -1)
    const date = (deal: Item) => String(deal.completionDate ?? '')
    it.each<[string, (deal: Item) => boolean]>([
      ['status=completed', (deal) => deal.status === 'completed'],
      ['status=open&held=false', (deal) => deal.status === 'open' && deal.held === false],
      ['held=true', (deal) => deal.held === true],
      ['ownerId=CaRoL', (deal) => deal.ownerId === 'carol'],
      ['ownerId=bob&sort=completionDate', (deal) => deal.ownerId === 'bob'],
      ['ownerId=bob&sort=-completionDate', (deal) => deal.ownerId === 'bob'],
      ['ownerId=nobody', () => false],
      ['currency=JPY', (deal) => deal.currency === 'JPY'],
      ['currency=USD', () => false],
      ['currency=EUR&priceMin=1&priceMax=2.00', (deal) => price(deal) >= 1 && price(deal) <= 2],
      ['currency=EUR&priceMin=1.01&sort=-price', (deal) => price(deal) > 1],
      ['currency=EUR&priceMin=3&priceMax=1', () => false],
      ['completionFrom=2030-01-02', (deal) => date(deal) >= '2030-01-02'],
      ['completionTo=2030-01-02', (deal) => deal.completionDate !== null && date(deal) <= '2030-01-02'],
      ['completionFrom=2030-01-02&completionTo=2030-01-02&sort=completionDate', (deal) => date(deal) === '2030-01-02'],
      ['q=ALPHA', (deal) => /alpha/i.test(String(deal.name))],
      ['q=%C3%A4rg', (deal) => deal.name === 'Ärger'],
      ['q=%25', (deal) => deal.name === 'a%b'],
      ['q=_', (deal) => deal.name === 'a_b'],
      ['q=%5C', (deal) => deal.name === 'a\\b'],
      ['q=+b', (deal) => deal.name === 'a b'],
      ["q=';", () => false],
      [
        'status=open&ownerId=carol&currency=EUR&q=a&completionFrom=2030-01-01&sort=name',
        (deal) =>
          [deal.status, deal.ownerId, deal.currency].join() === 'open,carol,EUR' &&
          /a/i.test(String(deal.name)) &&
          deal.completionDate !== null,
      ],
    ])('by %s', async (query, isMeant) => {
      const order = /sort=([^&]+)/.exec(query)?.[1] ?? '-createdAt'
      const expected = idsOf(inOrder(deals.filter(isMeant), order))
      expect(expected.length === 0).toBe(/nobody|USD|priceMax=1|';/.test(query))
      const { items } = await walkFrom(`${list}?${query}&limit=41`)
      expect(idsOf(items)).toEqual(expected)
    })
  })

  describe('while deals are created and changed', () => {
    it.each(orders)(
      'gives each deal that existed throughout once, at its former position, in the order %s',
      async (order) => {
        const path = `${list}?sort=${order}${currencyFor(order)}`
        const before = (await walkFrom(`${path}&limit=200`)).items
        const isThere = new Set(idsOf(before))
        const { items } = await walkFrom(`${path}&limit=97`, async (page) => {
          // Deals that have been passed, that are at the cursor, that are still to come.
          const places = [3, page * 97 - 2, page * 97 - 1, page * 97, page * 97 + 1, before.length - 1 - page * 3]
          const again = [before[(page * 131) % before.length], before[(page * 7) % 50]]
          const changed = [...places.map((place) => before[place]), ...again].flatMap((deal) => deal?.id ?? [])
          await Promise.all([...changed.map(change), create(page)])
          await Promise.all(changed.map(change))
        })
        expect(idsOf(items.filter(({ id }) => isThere.has(id)))).toEqual(idsOf(before))
        expect(new Set(idsOf(items)).size).toBe(items.length)
      },
    )

    it('shows the current values of deals', async () => {
      const [first, second] = itemsOf(await send(`${list}?sort=name&limit=2`))
      const start = await send(`${list}?sort=name&limit=1`)
      expect(itemsOf(start)).toEqual([first])
      await post(`${list}/${second?.id}/reopen`, { reason: 'to be renamed' })
      await post(`${list}/${second?.id}/rename`, { newName: 'zz the last of all' })
      const next = itemsOf(await send(`${list}?sort=name&limit=1&cursor=${start.body.nextCursor}`))
      expect(next).toEqual([expect.objectContaining({ id: second?.id, name: 'zz the last of all' })])
    })

    it('leaves out deals that no longer match, and gives each other deal once', async () => {
      const path = `${list}?status=open&sort=-name&limit=50`
      const before = (await walkFrom(path)).items
      const left = new Set<unknown>()
      const { items } = await walkFrom(path, async (page) => {
        const [leaving, staying] = [before[page * 50 + 20], before[page * 50 + 25]]
        if (!leaving || !staying) return
        left.add(leaving.id)
        await post(`${list}/${leaving.id}/cancel`, { penaltyAmount: 0, reason: 'over' })
        await post(`${list}/${staying.id}/rename`, { newName: `${names[page % names.length]}` })
      })
      expect(left.size).toBeGreaterThan(3)
      expect(idsOf(items)).toEqual(idsOf(before.filter(({ id }) => !left.has(id))))
    })

    it('gives a deal exactly once while many requests change it', async () => {
      for (const order of ['-updatedAt', 'price', '-completionDate']) {
        const path = `${list}?sort=${order}${currencyFor(order)}&limit=60`
        const before = (await walkFrom(path)).items
        const isThere = new Set(idsOf(before))
        let walking = true
        const changer = async (first: number) => {
          for (let at = first; walking; at += 37) await change(before[at % before.length]?.id)
        }
        const changers = [0, 11, 500].map(changer)
        // The order at the first page is not known here: deals change from the beginning. But all are there throughout.
        const { items } = await walkFrom(path)
        walking = false
        await Promise.all(changers)
        const seen = idsOf(items).filter((id) => isThere.has(id))
        expect(seen.length).toBe(new Set(seen).size)
        expect(new Set(seen)).toEqual(isThere)
      }
    })
  })
})
