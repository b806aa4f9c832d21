/** GET of the deals for clients that keep a copy: times, ids, members, counts, sums, and the search with its index. */
import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { conditionsOf } from '../../deal-server/store/deal-conditions.ts'
import { deals as table } from '../../deal-server/store/schema.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { campaign } from '../support/campaign.ts'
import { expectProblem } from '../support/clients/http-client.ts'
import { type Item, itemsOf, walk } from '../support/clients/walk.ts'
import { type Backend, describeBackends } from '../support/stores/backends.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'

const list = '/rest/v1/deals'
const words = ['Ärger', 'İstanbul', 'STRASSE', 'straße', 'a_b', '100%', 'c\\d', 'Pump-Station', 'x', '', 'ﬀ', '😀 ok']

describeBackends('deals', (openBackend) => {
  let backend: Backend
  let database: Database
  let stack: Stack
  let token: string
  /** All deals, newest first. */
  let deals: Item[]

  const send = (path: string, options: object = {}) => stack.deal.send(path, { token, ...options })
  const query = async (text: string) => itemsOf(await send(`${list}?limit=200&${text}`))
  const idsOf = (items: readonly Item[]) => items.map(({ id }) => id)
  const counted = (text: string, how: string) => send(`${list}?${text}`, { headers: { prefer: `count=${how}` } })

  beforeAll(async () => {
    backend = await openBackend()
    database = backend.openDatabase()
    stack = await openStack(async () => backend, { inProcess: true, logLevel: 'silent' })
    token = (await stack.logIn('alice')).access
    for (let n = 0; n < 60; n += 1) {
      const currency = ['EUR', 'JPY', 'KWD'][n % 3]
      const description = n % 2 ? `About ${words[n % words.length]} and more` : null
      const json = { name: `${words[(n * 5) % words.length]} ${n}`, price: n, currency, description }
      const made = await send(list, { json })
      expect(made.status, made.text).toBe(201)
      if (n % 10 === 0) await send(`${list}/${made.body.id}/hold`, { method: 'PUT', json: { reason: 'r' } })
      if (n % 4 === 1) await send(`${list}/${made.body.id}/complete`, { method: 'PUT', json: {} })
    }
    deals = await query('')
  })
  afterAll(async () => {
    await database.close()
    await stack.close()
  })

  describe('by time and id', () => {
    it.each(['created', 'updated'])('are from one %s time on, and before another', async (which) => {
      const at = `${which}At`
      const times = deals.map((deal) => String(deal[at])).sort()
      const [from, to] = [String(times[10]), String(times[40])]
      const expected = deals.filter((deal) => String(deal[at]) >= from && String(deal[at]) < to)
      expect(idsOf(await query(`${which}From=${from}&${which}To=${to}`))).toEqual(idsOf(expected))
      const spelled = encodeURIComponent(from.replace('T', 't').replace(/Z$/, '0000-00:00'))
      expect(await query(`${which}From=${spelled}&${which}To=${to}`)).toHaveLength(expected.length)
      expect(await query(`${which}From=${from.replace(/Z$/, '0001Z')}&${which}To=${from}`)).toEqual([])
      expect(await query(`${which}To=0001-01-01T00:00:00Z`)).toEqual([])
    })

    it('are those that are named, in the order of the list, whatever the spelling', async () => {
      const chosen = [deals[3], deals[1], deals[30]].map((deal) => String(deal?.id))
      const ids = [...chosen, chosen[0]?.toUpperCase(), randomUUID()].join()
      expect(idsOf(await query(`id=${ids}`))).toEqual([chosen[1], chosen[0], chosen[2]])
      const first = await send(`${list}?id=${chosen.join()}&limit=1`)
      const rest = await query(`id=${chosen.toReversed().join()}&cursor=${first.body.nextCursor}`)
      expect(idsOf(rest)).toEqual([chosen[0], chosen[2]])
      expectProblem(await send(`${list}?id=${chosen[0]}&cursor=${first.body.nextCursor}`), 400, 'invalid-cursor')
      const most = Array.from({ length: 199 }, () => randomUUID())
      expect(await query(`id=${[chosen[0], ...most].join()}`)).toHaveLength(1)
    })

    it.each([
      ['updatedFrom', 'updatedFrom=yesterday'],
      ['updatedFrom', 'updatedFrom=2030-01-01'],
      ['updatedTo', 'updatedTo=2030-02-30T00:00:00Z'],
      ['createdFrom', 'createdFrom=2030-01-01T00:00:00'],
      ['createdFrom', 'createdFrom=2030-01-01T00:00:00+01:00'],
      ['createdTo', 'createdTo=0000-01-01T00:00:00Z'],
      ['createdTo', 'createdTo=9999-12-31T23:59:59-01:00'],
      ['createdTo', 'createdTo=9999-12-31T23:59:59.9999Z'],
      ['id', 'id='],
      ['id', 'id=1,2'],
      ['id', `id=${randomUUID()},`],
      ['id', `id=${Array.from({ length: 201 }, () => randomUUID()).join()}`],
      ['fields', 'fields='],
      ['fields', 'fields=name,'],
      ['fields', 'fields=tasks'],
      ['fields', 'fields=constructor'],
    ])('name %s as wrong in ?%s', async (name, text) => {
      const refused = await send(`${list}?${text}`)
      expectProblem(refused, 400, 'invalid-parameter')
      expect(refused.body.errors).toMatchObject([{ pointer: `/${name}` }])
    })
  })

  it('have only the members that are asked for, in their usual order, also on further pages', async () => {
    const { items } = await walk(`${list}?fields=version,name&limit=25`, { send, origin: 'http://deals.test' })
    expect(items).toEqual(deals.map(({ id, name, version }) => ({ id, name, version })))
    expect(Object.keys(items[0] ?? {})).toEqual(['id', 'name', 'version'])
    expect(await query('fields=id')).toEqual(deals.map(({ id }) => ({ id })))
  })

  describe('counted', () => {
    it('exactly, beside any page, as the response says', async () => {
      const first = await counted('status=open&limit=5', 'exact')
      const total = deals.filter(({ status }) => status === 'open').length
      expect(first.body).toMatchObject({ totalCount: total, totalCountExact: true })
      expect(first.headers.get('preference-applied')).toBe('count=exact')
      expect(first.headers.get('vary')).toContain('Prefer')
      const second = await counted(`status=open&cursor=${first.body.nextCursor}`, '"EXACT"')
      expect(second.body.totalCount).toBe(total)
    })

    it('by estimate, which is exact where one page is all', async () => {
      const some = await counted('limit=5', 'estimated')
      expect(some.body).toMatchObject({ totalCount: expect.any(Number), totalCountExact: false })
      expect(Number(some.body.totalCount)).toBeGreaterThan(5)
      expect(some.headers.get('preference-applied')).toBe('count=estimated')
      const all = await counted('limit=200', 'estimated')
      expect(all.body).toMatchObject({ totalCount: deals.length, totalCountExact: true })
      expect(all.headers.get('preference-applied')).toBe('count=exact')
    })

    it.each(['', 'count', 'count=planned', 'return=minimal'])('not for Prefer: %s', async (prefer) => {
      const reply = await send(`${list}?limit=5`, { headers: { prefer } })
      expect(Object.keys(reply.body)).toEqual(['items', 'nextCursor'])
      expect(reply.headers.get('preference-applied')).toBeNull()
    })
  })

  describe('summed up', () => {
    const summary = async (text = '') => (await send(`${list}/summary${text}`)).body as Record<string, unknown>
    const open = ({ status }: Item) => status === 'open'

    it('by status, hold and currency, the largest group first', async () => {
      const { items, totalCount, otherCount } = await summary()
      expect([totalCount, otherCount]).toEqual([deals.length, 0])
      const groups = items as Item[]
      expect(groups.map(({ count }) => Number(count))).toEqual(
        groups.map(({ count }) => Number(count)).sort((a, b) => b - a),
      )
      for (const { status, held, currency, count, value, valueText } of groups) {
        const members = deals.filter((d) => d.status === status && d.held === held && d.currency === currency)
        const sum = members.reduce((total, { price }) => total + Number(price), 0)
        expect([count, value]).toEqual([members.length, sum])
        expect(valueText).toBe(sum.toFixed({ EUR: 2, JPY: 0, KWD: 3 }[String(currency)]))
      }
    })

    it('by owner, under the filters of the list', async () => {
      const { items } = await summary('?by=ownerId&status=open&currency=JPY')
      const members = deals.filter((deal) => open(deal) && deal.currency === 'JPY')
      const value = members.reduce((total, { price }) => total + Number(price), 0)
      const group = { ownerId: 'alice', currency: 'JPY', count: members.length, value, valueText: String(value) }
      expect(items).toEqual([group])
      const byCurrency = (await summary('?by=currency')).items as Item[]
      expect(byCurrency.map((group) => Object.keys(group).join())).toEqual(
        Array(3).fill('currency,count,value,valueText'),
      )
      expect(await summary('?q=nothing%20like%20this')).toEqual({ items: [], totalCount: 0, otherCount: 0 })
    })

    it.each(['by=', 'by=price', 'by=status,', 'limit=1', 'sort=name', 'fields=id', 'updatedFrom=x', 'priceMin=1'])(
      'not for ?%s',
      async (text) => {
        expectProblem(await send(`${list}/summary?${text}`), 400, 'invalid-parameter')
      },
    )

    it('by GET and HEAD alone, for callers who may read deals', async () => {
      expect((await send(`${list}/summary/`, { method: 'HEAD' })).status).toBe(200)
      const options = await send(`${list}/summary`, { method: 'OPTIONS' })
      expect(options.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
      for (const method of ['PUT', 'PATCH', 'DELETE', 'POST']) {
        const refused = await send(`${list}/summary`, { method })
        expectProblem(refused, 405, 'method-not-allowed')
        expect(refused.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
      }
      const dave = (await stack.logIn('dave')).access
      expectProblem(await stack.deal.send(`${list}/summary`, { token: dave }), 403, 'missing-right')
    })
  })

  describe('searched', () => {
    it('are found by name and by description, in any case', async () => {
      expect((await query('q=PUMP-station')).length).toBe(
        deals.filter(({ name, description }) => /pump-station/i.test(`${name} ${description}`)).length,
      )
      expect(idsOf(await query('q=about%20%C3%A4rger'))).toEqual(
        idsOf(deals.filter(({ description }) => String(description).includes('About Ärger'))),
      )
    })

    it('are the same with the index and without', async () => {
      const settings = (method: string) => sql.raw(`set local enable_${method} = off`)
      const found = (q: string, off: readonly string[]) =>
        database.transaction(async (transaction) => {
          for (const method of off) await transaction.execute(settings(method))
          const rows = await transaction
            .select({ id: table.id })
            .from(table)
            .where(sql.join(conditionsOf({ q }), sql` and `))
          return rows.map(({ id }) => id).sort()
        })
      const letters = fc.string({ unit: fc.constantFrom(...'aäÄßſsSİıiI%_\\- ﬀx10kK'), minLength: 1, maxLength: 5 })
      const parts = fc
        .constantFrom(...words.filter((word) => word !== ''))
        .chain((word) => fc.nat([...word].length - 1).map((from) => [...word].slice(from, from + 4).join('')))
      await fc.assert(
        fc.asyncProperty(
          fc.oneof(
            parts,
            parts.map((part) => part.toUpperCase()),
            letters,
          ),
          async (q) => {
            const without = await found(q, ['bitmapscan'])
            expect(await found(q, ['seqscan', 'indexscan', 'indexonlyscan'])).toEqual(without)
          },
        ),
        { numRuns: campaign({ short: 60, long: 6000 }) },
      )
    })
  })
})
