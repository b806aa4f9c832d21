/** A user who reads own deals alone, while deals are given away: walks, batches, files, the time of refusals. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { outcomesOf, sendLines } from '../../support/clients/batch-client.ts'
import { signIn } from '../../support/clients/pages/sign-in.ts'
import { describeBackends } from '../../support/stores/backends.ts'
import { runCommand } from '../../support/worlds/deals-of-the-table.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

const sorts = ['createdAt', '-createdAt', 'updatedAt', '-updatedAt', 'name', 'status', 'ownerId', 'completionDate']

interface ListPage {
  readonly items: readonly { readonly id: string; readonly ownerId: string }[]
  readonly nextCursor: string | null
}

describeBackends('a user who reads own deals alone', (openBackend) => {
  let stack: Stack
  let alice: string
  let seller: string
  let sellers = 0

  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true })
    alice = (await stack.logIn('alice')).access
  })
  afterAll(() => stack.close())

  const newUser = async (grants: object) => {
    const json = { username: `seller-${++sellers}`, password: 'a long enough secret', ...grants }
    const { access: token } = await stack.logIn('admin')
    expect((await stack.auth.send('/users', { token, json })).status).toBe(201)
    return json.username
  }
  const tokenOf = async (username: string) => (await stack.logIn(username, 'a long enough secret')).access
  beforeEach(async () => {
    seller = await newUser({ roles: ['seller'], rights: ['deal.assign-owner:own'] })
  })

  const send = (token: string, path: string, sent: object = {}) => stack.deal.send(path, { token, ...sent })
  const give = (id: string, employeeId: string) => runCommand(stack, alice, 'AssignOwner', { id, employeeId })
  const makeDeal = async (ownerId: string, name = 'deal') => {
    const id = randomUUID()
    const json = { id, name, price: 1, ownerId }
    expect((await send(alice, '/rest/v1/deals', { json })).status).toBe(201)
    return id
  }
  const page = async (token: string, query: string): Promise<ListPage> => {
    const { status, text, body } = await send(token, `/rest/v1/deals?${query}`)
    expect(status, text).toBe(200)
    return body as unknown as ListPage
  }

  it.each(sorts)('goes on with a list by %s that began before a deal was given away', async (sort) => {
    const token = await tokenOf(seller)
    const own = []
    for (const name of ['a', 'b', 'c', 'd']) own.push(await makeDeal(seller, name))
    const first = await page(token, `sort=${sort}&limit=1`)
    const rest = own.filter((id) => id !== first.items[0]?.id)
    const [given = '', ...kept] = rest
    await give(given, 'carol')
    const taken = await makeDeal('carol', 'bb')
    await give(taken, seller)
    const seen: string[] = []
    for (let cursor = first.nextCursor; cursor !== null; ) {
      const next = await page(token, `sort=${sort}&limit=1&cursor=${cursor}`)
      seen.push(...next.items.map(({ id }) => id))
      cursor = next.nextCursor
    }
    expect(seen.filter((id) => id !== taken).toSorted()).toEqual(kept.toSorted())
  })

  it('finds a deal foreign in the lines of a batch behind the one that gives it away', async () => {
    const token = await tokenOf(seller)
    const id = await makeDeal(seller)
    const line = (action: string, params: object) => ({ id: `${id}.${action}`, action, deal: id, params })
    const lines = [
      line('HoldDeal', { reason: 'mine' }),
      line('AssignOwner', { employeeId: 'carol' }),
      line('UnholdDeal', {}),
      line('RenameDeal', { newName: 'still mine' }),
    ]
    const outcomes = outcomesOf(await sendLines(stack.deal, lines, { token }))
    expect(outcomes.map(({ status }) => status)).toEqual([201, 201, 404, 404])
    expect(JSON.stringify(outcomes.slice(2))).not.toContain('carol')
    expect((await send(alice, `/rest/v1/deals/${id}`)).body).toMatchObject({ held: true, name: 'deal' })
  })

  it('imports own deals and no others, and exports own deals and no others', async () => {
    const token = await tokenOf(seller)
    const foreign = await makeDeal('carol')
    const row = (params: object) => ({ id: randomUUID(), action: 'CreateDeal', params: { price: 1, ...params } })
    const rows = [{ name: 'one' }, { name: 'two', ownerId: seller }, { name: 'three', ownerId: 'carol' }]
    const taken = { name: 'four', id: foreign }
    const outcomes = outcomesOf(await sendLines(stack.deal, [...rows, taken].map(row), { token }))
    expect(outcomes.map(({ status }) => status)).toEqual([201, 201, 403, 404])
    const { cookie } = await signIn(stack, seller, { json: { username: seller, password: 'a long enough secret' } })
    const { status, text } = await stack.deal.send('/console/deals/export?form=ndjson&sort=name', {
      headers: { cookie },
    })
    expect(status).toBe(200)
    const exported = text.trimEnd().split('\n')
    expect(exported.map((line) => (JSON.parse(line) as { name: string }).name)).toEqual(['one', 'two'])
  })

  it('reads the tasks of other users in own deals alone, and all of its own', async () => {
    const reader = await newUser({ roles: ['seller'], rights: ['task.read-any'] })
    const token = await tokenOf(reader)
    const deals = [await makeDeal('carol', 'foreign one'), await makeDeal(reader, 'own one'), await makeDeal('carol')]
    for (const id of deals)
      for (const assigneeId of [seller, reader]) {
        const json = { title: 'planted', assigneeId }
        expect((await send(alice, `/rest/v1/deals/${id}/tasks`, { method: 'POST', json })).status).toBe(201)
      }
    const dealsOf = async (path: string) => {
      const { text, headers } = await send(token, path)
      const items = JSON.parse(text) as { dealId: string }[]
      return { ids: items.map(({ dealId }) => dealId), next: headers.get('link') }
    }
    expect(await dealsOf(`/query/AssignedTask/${seller}?limit=1`)).toEqual({ ids: [deals[1]], next: null })
    expect((await dealsOf(`/query/AssignedTask/${reader}`)).ids.toSorted()).toEqual(deals.toSorted())
    await give(deals[1] ?? '', 'carol')
    expect((await send(token, `/query/AssignedTask/${seller}`)).status).toBe(404)
  })

  it('takes no right of another kind in a narrower form', async () => {
    const { access: admin } = await stack.logIn('admin')
    const right = (name: string) => ({ name, description: '', readsOnly: false })
    const rights = ['webhook.manage:own', 'task.read-any:own'].map(right)
    const json = { id: 'other', audience: 'urn:example:other', name: 'Other', rights }
    expect((await stack.auth.send('/resource-servers', { token: admin, json })).status).toBe(201)
    const token = await tokenOf(await newUser({ rights: rights.map(({ name }) => name) }))
    expect((await send(token, '/rest/v1/webhooks')).status).toBe(403)
    expect((await send(token, '/query/AssignedTask/alice')).status).toBe(403)
    expect((await stack.auth.send('/resource-servers/other', { token: admin, method: 'DELETE' })).status).toBe(204)
  })

  it('has the wider width of a right, also of one by a role and one by itself', async () => {
    const both = await newUser({ roles: ['seller'], rights: ['deal.read', 'deal.hold'] })
    const token = await tokenOf(both)
    const foreign = await makeDeal('carol')
    const hold = { method: 'PUT', json: { reason: 'by the wider right' } }
    expect((await send(token, `/rest/v1/deals/${foreign}`)).status).toBe(200)
    expect((await send(token, `/rest/v1/deals/${foreign}/hold`, hold)).status).toBe(200)
    const rename = { method: 'PUT', json: { newName: 'by the narrower one' } }
    expect((await send(token, `/rest/v1/deals/${foreign}/rename`, rename)).status).toBe(403)
  })

  it('waits for a refusal as long as it takes to read a deal, so that the time tells nothing', async () => {
    const token = await tokenOf(seller)
    const ids = [await makeDeal('carol'), randomUUID()]
    for (const id of ids)
      for (const path of [`/rest/v1/deals/${id}`, `/rest/v1/deals/${id}/history`, `/query/Deal/${id}`]) {
        const begin = performance.now()
        expect((await send(token, path)).status).toBe(404)
        expect(performance.now() - begin).toBeGreaterThan(9)
      }
  })
})
