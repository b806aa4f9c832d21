/** What a right alone may see: a user with one right walks every route of the deal server. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { builtInRights } from '../../../auth-server/principals/rights.ts'
import { openEvents } from '../../support/clients/event-client.ts'
import { expectProblem, type Reply, type Sent } from '../../support/clients/http-client.ts'
import { type Document, describedIn } from '../../support/clients/openapi.ts'
import { describeOnce } from '../../support/stores/backends.ts'
import { commandRows, type Entry, plantedTask, routeTable } from '../../support/worlds/rights-alone.ts'
import { openStack, type Stack } from '../../support/worlds/stack.ts'
import { sendAs, styleCalled } from '../../support/worlds/twins.ts'

/** In every text and every amount of a planted deal. Digits of a metric may be the same by chance, within a number. */
const planted = /planted|(?<![\d.])7654321/i
/** Members that say something of a deal's state. */
const ofState = /"(current|currentStatus|held|allowed|blocked|openTasks|price|status":"(open|completed|cancelled))"/

let stack: Stack
let alice: string
let dave: string
/** Held, cancelled, deleted: made once, changed by nobody. */
let held: string
let closed: string
let deleted: string
/** A command of dave's own on the held deal. */
const ownCommand = `own-${randomUUID()}`
/** And one on the deleted deal, sent before. */
const ownCommandOnDeleted = `own-${randomUUID()}`

const send = (token: string, method: string, path: string, sent: Sent = {}): Promise<Reply> =>
  stack.deal.send(path, { method, token, ...sent })

async function asAlice(id: string, useCase: string, params: object): Promise<void> {
  const { status, text } = await send(alice, 'POST', `/command/${useCase}/`, { json: { id, ...params } })
  expect({ status, text }).toEqual({ status: 200, text: '' })
}

/** A deal whose every text says that it was planted. */
async function plant(...more: readonly (readonly [string, object])[]): Promise<string> {
  const id = randomUUID()
  await asAlice(id, 'CreateDeal', { name: 'planted name', price: 7654321.5, description: 'planted description' })
  await asAlice(id, 'AddTask', { taskId: plantedTask, title: 'planted task', assigneeId: 'alice' })
  for (const [useCase, params] of more) await asAlice(id, useCase, params)
  return id
}

async function giveDave(...rights: readonly string[]): Promise<void> {
  const token = (await stack.logIn('admin')).access
  const reply = await stack.auth.send('/users/dave', { method: 'PATCH', token, json: { rights } })
  expect(reply.status).toBe(200)
}

const textOf = ({ text, headers }: Reply) => JSON.stringify([...headers]) + text

/** Where a route leads for one deal. */
const pathOf = (path: string, id: string, commandId: string) =>
  path
    .replace('{id}', id)
    .replace('{commandId}', commandId)
    .replace('{selection}', 'held')
    .replace('{username}', 'alice')
    .replace('{file}', 'docs.js')
    .replace('{code}', 'not-found')

/** What a route needs of this caller, and the body to send; undefined: nothing that the caller has a right to. */
function requestOf(entry: Entry, right: string | undefined, id: string): { needs: string; json: object } {
  if ('useCase' in entry) {
    const { right: needs, params } = commandRows[entry.useCase] ?? { right: '', params: {} }
    return { needs, json: entry.body === 'arguments' ? { id, ...params } : params }
  }
  const isAttributes = 'names' in entry && entry.names === 'attributes'
  const own = Object.entries(commandRows).find(([, row]) => row.right === right && (!isAttributes || row.attributes))
  const [action, row] = own ?? ['HoldDeal', commandRows.HoldDeal]
  const { params, attributes, right: needs = '' } = row ?? {}
  // An attribute update needs the right to read besides.
  return isAttributes ? { needs: '', json: { ...attributes } } : { needs, json: { action, params } }
}

/**
 * All that a caller may try with a command that the right allows: everything that may be refused, and a replay. Trying
 * without a trace is for readers.
 */
async function tryCommand(method: string, path: string, entry: Entry, right: string): Promise<Reply[]> {
  const fresh = await plant(['ChangePrice', { newPrice: 7654321.25, reason: 'planted reason' }])
  const replies: Reply[] = []
  const attempt = async (id: string, sent: { query?: string; headers?: Record<string, string>; key?: string }) => {
    const { key = randomUUID(), query = '' } = sent
    const isGlobal = path === '/commands/{commandId}'
    const { json } = requestOf(entry, right, id)
    const body = { ...json, ...(isGlobal ? { deal: id } : {}), ...(path === '/rest/v1/deals' ? { id } : {}) }
    const headers = path.includes('{commandId}') ? {} : { 'idempotency-key': key }
    const target = pathOf(path, id, key) + query
    const reply = await send(dave, method, target, { json: body, headers: { ...headers, ...sent.headers } })
    replies.push(reply)
    return reply
  }
  for (const id of [held, closed, deleted, fresh]) {
    const dry = await attempt(id, { query: '?validateOnly=true' })
    if (right !== 'deal.create') expectProblem(replies.pop() ?? dry, 403, 'missing-right')
    await attempt(id, { headers: { 'if-match': '"999"' } })
  }
  const key = randomUUID()
  const first = await attempt(fresh, { key })
  const again = await attempt(fresh, { key })
  expect([again.status, again.text.length]).toEqual([first.status, first.text.length])
  return replies
}

/** Walks one route with one right. */
async function walk(route: string, entry: Entry, right: string | undefined): Promise<void> {
  const [method = '', path = ''] = route.split(' ')
  if ('open' in entry) {
    const reply = await send(dave, method, pathOf(path, held, ownCommand))
    expect({ route, status: reply.status }).toEqual({ route, status: 200 })
    return expect(textOf(reply)).not.toMatch(planted)
  }
  if ('manages' in entry) {
    const { manages, json } = entry
    const isAllowed = manages.every((one) => one === right)
    const reply = await send(dave, method, pathOf(path, held, ownCommand), json ? { json } : {})
    return expectProblem(reply, isAllowed ? 404 : 403, isAllowed ? 'not-found' : 'missing-right')
  }
  if ('reads' in entry) return walkRead({ method, path }, entry, right)
  if ('batch' in entry) return walkBatch(right)
  if ('tools' in entry) return walkTools(right)
  const { needs, json } = requestOf(entry, right, held)
  if (right === needs) {
    for (const reply of await tryCommand(method, path, entry, right)) {
      expect([401, 403, 500, 503], `${route}: ${reply.text}`).not.toContain(reply.status)
      expect(textOf(reply)).not.toMatch(planted)
      expect(textOf(reply)).not.toMatch(ofState)
    }
    return
  }
  const isGlobal = path === '/commands/{commandId}'
  const target = pathOf(path, held, randomUUID())
  const reply = await send(dave, method, target, { json: { ...json, ...(isGlobal ? { deal: held } : {}) } })
  expectProblem(reply, 403, 'missing-right')
  expect(textOf(reply)).not.toMatch(planted)
}

/** A batch in which a command of each right is tried on each deal. */
async function walkBatch(right: string | undefined): Promise<void> {
  const commands = Object.entries(commandRows).flatMap(([action, row]) =>
    [held, closed, deleted].map((deal) => ({ ...row, action, deal })),
  )
  const body = commands.map(({ action, params, deal }) =>
    JSON.stringify({ id: randomUUID(), deal, action, params, ifMatch: '"999"' }),
  )
  const headers = { 'content-type': 'application/x-ndjson' }
  const reply = await send(dave, 'POST', '/commands', { body: body.join('\n'), headers })
  const outcomes = reply.text.trimEnd().split('\n')
  expect(outcomes).toHaveLength(commands.length)
  for (const [index, outcome] of outcomes.entries()) {
    const { problem } = JSON.parse(outcome)
    const { right: needs, action, deal } = commands[index] ?? {}
    // Who reads deals may know that there is none: this command can do without its right on a task of the caller's own.
    const isUnknown = right === 'deal.read' && action === 'CompleteTask' && deal === deleted
    const mayRun = needs === right || isUnknown
    expect({ outcome, isMissing: problem?.code === 'missing-right' }).toEqual({ outcome, isMissing: !mayRun })
  }
  expect(textOf(reply)).not.toMatch(planted)
  expect(textOf(reply)).not.toMatch(ofState)
}

/** A call of each command on each deal. */
async function walkTools(right: string | undefined): Promise<void> {
  for (const [useCase, { params, right: needs }] of Object.entries(commandRows))
    for (const dealId of [held, closed, deleted]) {
      const request = styleCalled('mcp').request({ useCase, params, dealId })
      if (!request) throw new TypeError('tools cover everything')
      const sent = { ...request.sent, headers: { 'if-match': '"999"' } }
      const reply = await sendAs(stack.deal, dave)({ ...request, sent })
      const isUnknown = right === 'deal.read' && useCase === 'CompleteTask' && dealId === deleted
      const isMissing = reply.body.code === 'missing-right'
      expect([useCase, reply.text, isMissing]).toEqual([useCase, reply.text, needs !== right && !isUnknown])
      expect(textOf(reply)).not.toMatch(planted)
      expect(textOf(reply)).not.toMatch(ofState)
    }
}

async function walkRead(
  { method, path }: { method: string; path: string },
  { reads, shows }: { reads: string; shows: boolean },
  right: string | undefined,
): Promise<void> {
  const at = (id: string) => pathOf(path, id, ownCommand)
  if (right !== reads) {
    const reply = await send(dave, method, at(held))
    expectProblem(reply, 403, 'missing-right')
    return expect(textOf(reply)).not.toMatch(planted)
  }
  if (path === '/rest/v1/events') return walkEvents()
  const reply = await send(dave, method, at(held))
  expect({ path, status: reply.status }).toEqual({ path, status: 200 })
  if (shows) expect(textOf(reply)).toMatch(planted)
  if (!path.includes('{id}') && !path.includes('{commandId}')) return
  const ofDeleted = await send(dave, method, pathOf(path, deleted, ownCommandOnDeleted))
  expectProblem(ofDeleted, 404, 'not-found')
  expect(textOf(ofDeleted)).not.toMatch(planted)
}

async function walkEvents(): Promise<void> {
  const stream = await openEvents(stack.deal, { token: dave, query: '?after=0' })
  await stream.until(({ events }) => events.some(({ data }) => data.subject === held))
  stream.close()
  expect(JSON.stringify(stream.events)).toMatch(planted)
  const ofDeleted = stream.events.filter(({ data }) => data.subject === deleted)
  expect(ofDeleted.map(({ event }) => event)).toEqual(['deal.deleted'])
  expect(JSON.stringify(ofDeleted)).not.toMatch(planted)
}

/** The end of a right for own deals alone. All deals here are foreign to dave. */
const own = ':own'

/** Asks one route about a deal. */
async function askAbout(route: string, entry: Entry, { right, id }: { right: string; id: string }): Promise<Reply> {
  const [method = '', path = ''] = route.split(' ')
  const target = pathOf(path, id, randomUUID())
  if ('reads' in entry) return send(dave, method, target)
  const { json } = requestOf(entry, right.slice(0, -own.length), id)
  const chosen = path === '/commands/{commandId}' ? { deal: id } : path === '/rest/v1/deals' ? { id } : {}
  return send(dave, method, target, { json: { ...json, ...chosen } })
}

/** The rights under which something of the deal is shown at least. */
const dealRights = builtInRights.filter((right) => /^(deal|task)\./.test(right) && !right.endsWith(own))
const ownRights = builtInRights.filter((right) => right.endsWith(own))

/** Of the rights under which nothing is: those that a route wants, and all the others, which are walked together. */
const further = builtInRights.filter((right) => !/^(deal|task)\./.test(right))
const managed = [...routeTable.values()].flatMap((entry) => ('manages' in entry ? entry.manages : []))
const wantedRights = further.filter((right) => managed.includes(right))
const unwantedRights = further.filter((right) => !managed.includes(right))

describeOnce('a right alone', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true, logLevel: 'silent' })
    alice = (await stack.logIn('alice')).access
    dave = (await stack.logIn('dave')).access
    held = await plant(['HoldDeal', { reason: 'planted reason' }])
    closed = await plant(['CancelDeal', { reason: 'planted reason', penaltyAmount: 7654321 }])
    deleted = await plant()
    await giveDave('deal.rename')
    const json = { action: 'RenameDeal', params: { newName: 'planted name of dave' } }
    for (const [id, command] of [
      [held, ownCommand],
      [deleted, ownCommandOnDeleted],
    ] as const) {
      expect((await send(dave, 'PUT', `/rest/v1/deals/${id}/commands/${command}`, { json })).status).toBe(201)
    }
    await asAlice(deleted, 'DeleteDeal', {})
  })
  afterAll(() => stack.close())

  it('is walked along every route that the server describes, and the table has no others', async () => {
    const document: Document = JSON.parse((await send(dave, 'GET', '/openapi.json')).text)
    const described = describedIn(document).map(({ method, path }) => `${method} ${path}`)
    expect([...routeTable.keys()].sort()).toEqual(described.sort())
  })

  it.each([undefined, ...dealRights])('%s shows what it is for, and refusals show nothing', async (right) => {
    await giveDave(...(right === undefined ? [] : [right]))
    for (const [route, entry] of routeTable) await walk(route, entry, right)
  })

  it.each(ownRights)('%s shows nothing of a foreign deal, and does not tell it from none', async (right) => {
    await giveDave(right)
    for (const [route, entry] of routeTable) {
      if (['open', 'manages', 'batch', 'tools'].some((kind) => kind in entry) || route === 'GET /rest/v1/events')
        continue
      for (const id of [held, closed, deleted]) {
        const foreign = await askAbout(route, entry, { right, id })
        expect(textOf(foreign), route).not.toMatch(planted)
        expect(textOf(foreign), route).not.toMatch(ofState)
        const none = await askAbout(route, entry, { right, id: randomUUID() })
        if (none.status < 300 && !route.startsWith('GET')) expect([route, foreign.status]).toEqual([route, 404])
        else expect([route, foreign.status, foreign.body.code]).toEqual([route, none.status, none.body.code])
      }
    }
  })

  it.each([...wantedRights.map((right) => [right]), unwantedRights].map((rights) => [rights]))(
    '%j shows nothing of a deal',
    async (rights) => {
      await giveDave(...rights)
      const [right] = rights
      for (const [route, entry] of routeTable) if (!('open' in entry)) await walk(route, entry, right)
    },
  )
})
