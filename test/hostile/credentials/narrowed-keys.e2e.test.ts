/**
 * What a narrowed key may do on the deal server: it walks every route. Those of the auth server are in
 * `auth-routes.e2e.test.ts`.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Reply, Sent } from '../../support/clients/http-client.ts'
import { type Document, describedIn } from '../../support/clients/openapi.ts'
import { type ClientKey, makeKey, signUrl } from '../../support/clients/signing.ts'
import { describeEmbedded } from '../../support/stores/backends.ts'
import { commandRows, type Entry, plantedTask, routeTable } from '../../support/worlds/rights-alone.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'

let stack: Stack
let alice: string
/** A deal with a task of alice's, and a command of hers on it. */
let dealId: string
const commandId = `own-${randomUUID()}`

const send = (method: string, path: string, sent: Sent = {}) => stack.deal.send(path, { method, token: alice, ...sent })

/** Sends what this key has signed. */
async function signed(key: ClientKey, method: string, path: string, json: object | undefined): Promise<Reply> {
  const body = json === undefined ? {} : { body: JSON.stringify(json) }
  const options = { timestamp: Math.floor(stack.clock.now() / 1000), nonce: randomUUID() }
  const url = signUrl(key, { method, url: stack.deal.url + path, ...body }, options)
  const headers = json === undefined ? {} : { 'content-type': 'application/json' }
  return stack.deal.send(url.slice(stack.deal.url.length), { method, headers, ...body })
}

const pathOf = (path: string) =>
  path
    .replace('{id}', dealId)
    .replace('{commandId}', path.includes('/commands/') ? commandId : randomUUID())
    .replace('{selection}', 'held')
    .replace('{username}', 'alice')
    .replace('{file}', 'docs.js')
    .replace('{code}', 'not-found')

/** The body of a command; undefined for what takes none. */
function bodyOf(method: string, path: string, entry: Entry): object | undefined {
  if (method === 'GET' || method === 'DELETE' || 'open' in entry || 'reads' in entry) return undefined
  if ('batch' in entry) return [{ id: `batch-${randomUUID()}`, deal: dealId, action: 'UnholdDeal', params: {} }]
  if ('manages' in entry) return entry.json
  if ('tools' in entry) return {}
  if ('names' in entry) {
    if (entry.names === 'attributes') return { ...commandRows.UnholdDeal?.attributes }
    const named = { action: 'UnholdDeal', params: {} }
    return path === '/commands/{commandId}' ? { ...named, deal: dealId } : named
  }
  const params = { ...commandRows[entry.useCase]?.params }
  return entry.body === 'arguments' ? { ...params, id: dealId } : params
}

describeEmbedded('a narrowed key on the deal server', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true, logLevel: 'silent' })
    alice = (await stack.logIn('alice')).access
    dealId = randomUUID()
    expect((await send('POST', '/rest/v1/deals', { json: { id: dealId, name: 'deal123', price: 1 } })).status).toBe(201)
    const task = { taskId: plantedTask, title: 'a task', assigneeId: 'alice' }
    expect((await send('POST', `/rest/v1/deals/${dealId}/tasks`, { json: task })).status).toBe(201)
    expect((await send('PUT', `/rest/v1/deals/${dealId}/hold`, { json: { reason: 'why not' } })).status).toBe(200)
    const json = { action: 'RenameDeal', params: { newName: 'deal124' } }
    expect((await send('PUT', `/rest/v1/deals/${dealId}/commands/${commandId}`, { json })).status).toBe(201)
  })
  afterAll(() => stack.close())

  it('walks every route that the server describes, and no other', async () => {
    const document: Document = JSON.parse((await send('GET', '/openapi.json')).text)
    const described = describedIn(document).map(({ method, path }) => `${method} ${path}`)
    expect([...routeTable.keys()].sort()).toEqual(described.sort())
  })

  it.each([[[]], [['deal.read']], [['deal.history.read']]])(
    'of all that its owner may do does %j alone, the tasks of its owner included',
    async (rights: string[]) => {
      const key = await makeKey(stack, 'alice', { rights })
      for (const [route, entry] of routeTable) {
        const [method = '', path = ''] = route.split(' ')
        if (path === '/rest/v1/events' && rights.includes('deal.history.read')) continue // would not end
        const reply = await signed(key, method, pathOf(path), bodyOf(method, path, entry))
        const mayRead = 'open' in entry || ('reads' in entry && rights.includes(entry.reads))
        if (mayRead) expect({ route, status: reply.status }).toEqual({ route, status: 200 })
        else if ('batch' in entry) expect(reply.text).toMatch(/"status":403.*"code":"missing-right"/)
        else {
          const isOfProposer = 'manages' in entry && entry.manages.length === 0
          const refused = isOfProposer ? 'not-found' : 'missing-right'
          const code = 'tools' in entry ? 'application-token-required' : refused
          expect({ route, code: reply.body.code }).toEqual({ route, code })
        }
      }
      const { body } = await send('GET', `/rest/v1/deals/${dealId}`)
      expect(body).toMatchObject({ name: 'deal124', held: true, status: 'open', version: 4 })
    },
  )

  it('is told by expand=allowed that it may complete no task of its owner; a whole key shows them', async () => {
    const key = await makeKey(stack, 'alice', { rights: ['deal.read'] })
    const path = `/rest/v1/deals/${dealId}?expand=allowed`
    expect((await signed(key, 'GET', path, undefined)).body.allowed).toEqual([])
    const whole = await makeKey(stack, 'alice')
    expect((await signed(whole, 'GET', '/query/AssignedTask/alice', undefined)).status).toBe(200)
  })
})
