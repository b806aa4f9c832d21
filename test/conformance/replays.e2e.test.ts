/**
 * One command store for all styles: replays within a style and across styles, reuse, what is kept, and the command
 * resource.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectProblem, type Reply } from '../support/clients/http-client.ts'
import { attributeUseCases, covers, type StyleClient, styleClients } from '../support/clients/style-clients.ts'
import { describeBackends } from '../support/stores/backends.ts'
import { storedDeals } from '../support/stores/stored-deals.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'
import { type DealState, takenTask, transitionTable } from '../support/worlds/transition-table.ts'
import { makeTwin, type SendRequest, sendAs, styleCalled, type Twin } from '../support/worlds/twins.ts'

let stack: Stack
let send: SendRequest
let stored: ReturnType<typeof storedDeals>

type Params = Readonly<Record<string, unknown>>
interface Named {
  readonly useCase: string
  readonly params: Params
  readonly twin: Twin
  readonly commandId: string
}

const through = (client: StyleClient, { useCase, params, twin, commandId }: Named): Promise<Reply> => {
  const request = client.request({ useCase, params, commandId, ...twin })
  if (!request) throw new TypeError(`${client.title} does not cover ${useCase}`)
  return send(request)
}
const holding = async (params: Params = { reason: 'test' }): Promise<Named> => ({
  useCase: 'HoldDeal',
  params,
  twin: await makeTwin(send, 'OPEN'),
  commandId: `key-${randomUUID()}`,
})
const hasStyle = (client: StyleClient) => client.style !== 'attribute-update'
/** The styles with a form of every command. */
const fullStyles = styleClients.filter((client) => hasStyle(client) && covers(client, 'HoldDeal'))
const titlesOf = (clients: readonly StyleClient[]) => clients.map((client) => [client.title, client] as const)
const titles = titlesOf(styleClients)

const traces = async (commandId: string) => {
  const [row] = await stack.database.query<{ events: number; commands: number }>(
    `select (select count(*)::int from deals.events where command_id = $1) as events,
       (select count(*)::int from deals.commands where command_id = $1) as commands`,
    [commandId],
  )
  return row
}

const remembered = ['etag', 'location', 'deal-changed', 'content-type']

function expectByteEqual(again: Reply, first: Reply): void {
  expect({ status: again.status, text: again.text }).toEqual({ status: first.status, text: first.text })
  const headersOf = ({ headers }: Reply) => remembered.map((name) => headers.get(name))
  expect(headersOf(again)).toEqual(headersOf(first))
  const replayed = [first, again].map(({ headers }) => headers.get('idempotent-replayed'))
  expect(replayed).toEqual([null, 'true'])
}

const stateFor = (useCase: string): DealState =>
  useCase === 'CreateDeal' ? 'ABSENT' : useCase === 'RestoreDeal' ? 'DELETED' : 'OPEN'

/** Sends it, changes the deal's name behind it, and sends it again. */
async function sendTwice(client: StyleClient, named: Named) {
  const first = await through(client, named)
  const newName = `renamed ${randomUUID()}`
  await send({ path: `${named.twin.path}/rename`, sent: { json: { newName } } })
  return { first, again: await through(client, named) }
}

async function expectReplayInFormOf(second: StyleClient, named: Named, first: Reply): Promise<void> {
  const { title } = second
  const again = await through(second, named)
  expect(again.headers.get('idempotent-replayed'), title).toBe('true')
  expect(again.headers.get('etag'), title).toBe(first.headers.get('etag'))
  expect(again.headers.get('deal-changed'), title).toBe('true')
  expect(again.status, title).toBe(second.form === 'command' ? 201 : 200)
  if (second.form === 'nothing') expect(again.text, title).toBe('')
  else if (second.form === 'call')
    expect(again.body, title).toMatchObject({ deal: { id: named.twin.dealId, held: true, version: 4 } })
  else if (second.form === 'deal')
    expect(again.body, title).toMatchObject({ id: named.twin.dealId, held: true, version: 4 })
  else expect(again.body, title).toMatchObject({ id: named.commandId, action: 'HoldDeal', state: 'succeeded' })
}

describeBackends('the command store behind all styles', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true, logLevel: 'silent' })
    send = sendAs(stack.deal, (await stack.logIn('alice')).access)
    stored = storedDeals(stack.database)
  })
  afterAll(() => stack.close())

  describe.each(titles)('%s', (_title, client) => {
    it('replays each of its commands byte for byte, also after later changes of the deal', async () => {
      const covered = transitionTable.filter(({ useCase }) => covers(client, useCase))
      expect(covered.length).toBeGreaterThan(1)
      await Promise.all(
        covered.map(async ({ useCase, params }) => {
          const twin = await makeTwin(send, stateFor(useCase))
          const named = { useCase, params, twin, commandId: `key-${randomUUID()}` }
          const { first, again } = await sendTwice(client, named)
          expect({ useCase, changed: first.headers.get('deal-changed') }).toEqual({
            useCase,
            changed: useCase === 'UnholdDeal' || useCase === 'ReopenDeal' ? 'false' : 'true',
          })
          expectByteEqual(again, first)
          await stored.expectFolded(twin.dealId)
        }),
      )
    })

    it('replays a refusal by the state byte for byte, also after the state changed', async () => {
      const useCase =
        client.title === 'natural form' ? 'AddTask' : client.style === 'resource' ? 'DeleteDeal' : 'HoldDeal'
      const { params = {} } = transitionTable.find((row) => row.useCase === useCase) ?? {}
      const twin = await makeTwin(send, 'COMPLETED')
      const named = { useCase, params, twin, commandId: `key-${randomUUID()}` }
      const first = await through(client, named)
      expectProblem(first, 409, useCase === 'DeleteDeal' ? 'deal-completed' : 'deal-closed')
      expect(first.body).toMatchObject({ final: true, dealId: twin.dealId, currentStatus: 'completed', held: false })
      expect(first.body.allowed).toEqual(['RestoreDeal', 'ReopenDeal'])
      await send({ path: `${twin.path}/reopen`, sent: { json: { reason: 'test' } } })
      expectByteEqual(await through(client, named), first)
      expect(await traces(named.commandId)).toEqual({ events: 0, commands: 1 })
    })

    it('runs 50 parallel copies once, with equal responses', async () => {
      const useCase =
        client.style === 'resource' ? 'DeleteDeal' : client.title === 'natural form' ? 'AddTask' : 'HoldDeal'
      const { params = {} } = transitionTable.find((row) => row.useCase === useCase) ?? {}
      const named = { useCase, params, twin: await makeTwin(send, 'OPEN'), commandId: `key-${randomUUID()}` }
      const replies = await Promise.all(Array.from({ length: 50 }, () => through(client, named)))
      expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
      expect(replies.filter(({ headers }) => headers.get('idempotent-replayed') === null).length).toBe(1)
      expect(replies[0]?.status).toBeLessThan(300)
      expect(await traces(named.commandId)).toEqual({ events: 1, commands: 1 })
    })
  })

  it.each(titlesOf(fullStyles))(
    'sent by %s, replayed by each style: the stored outcome in the form of the latter',
    async (_title, first) => {
      const named = await holding({ reason: ' test ', reasonCode: 'x' })
      const reply = await through(first, named)
      await send({ path: `${named.twin.path}/unhold`, sent: { method: 'PUT' } })
      const refused = { ...named, commandId: `key-${randomUUID()}`, twin: await makeTwin(send, 'CANCELLED') }
      const problem = await through(first, refused)
      expectProblem(problem, 409, 'deal-closed')
      for (const second of fullStyles) {
        await expectReplayInFormOf(second, { ...named, params: { reasonCode: 'x', reason: 'test' } }, reply)
        const replayed = await through(second, refused)
        expectProblem(replayed, 409, 'deal-closed')
        expect(replayed.text, second.title).toBe(problem.text)
        expect(replayed.headers.get('idempotent-replayed'), second.title).toBe('true')
      }
      expect(await traces(named.commandId)).toEqual({ events: 1, commands: 1 })
    },
  )

  it.each(titlesOf(fullStyles))('%s: an id with other content is 422, and does nothing', async (_title, client) => {
    const named = await holding()
    await through(styleCalled('action by PUT'), named)
    const others: Named[] = [
      { ...named, params: { reason: 'other' } },
      { ...named, useCase: 'UnholdDeal', params: {} },
      { ...named, twin: await makeTwin(send, 'OPEN') },
    ]
    for (const other of others) {
      const reused = await through(client, other)
      expectProblem(reused, 422, 'command-id-reused')
      const { commandId, twin } = named
      expect(reused.body).toMatchObject({ commandId, dealId: twin.dealId, useCase: 'HoldDeal' })
      expect(reused.body.final).not.toBe(true)
    }
    expect(await traces(named.commandId)).toEqual({ events: 1, commands: 1 })
  })

  it('an attribute update is its own command', async () => {
    const named = await holding()
    const byAttributes = styleCalled('attribute update by PUT')
    const first = await through(byAttributes, named)
    expect(first.status).toBe(200)
    expectProblem(await through(styleCalled('action by PUT'), named), 422, 'command-id-reused')
    const other = { ...named, params: { reason: 'other' } }
    expectProblem(await through(byAttributes, other), 422, 'command-id-reused')
    expectByteEqual(await through(byAttributes, named), first)
  })

  describe('refusals that are not stored', () => {
    const passing: [string, Params, number, string][] = [
      ['AssignOwner', { employeeId: 'nobody' }, 422, 'employee-unknown'],
      ['CompleteDeal', { completedOn: '2199-12-31', openTasks: 'drop' }, 422, 'date-out-of-range'],
      ['CompleteTask', { taskId: randomUUID() }, 404, 'task-not-found'],
    ]
    it.each(passing)('%s %j: %d %s', async (useCase, params, status, code) => {
      await Promise.all(
        styleClients
          .filter((client) => covers(client, useCase))
          .map(async (client) => {
            const named = { useCase, params, twin: await makeTwin(send, 'OPEN'), commandId: `key-${randomUUID()}` }
            const refused = await through(client, named)
            expectProblem(refused, status, code)
            expect(refused.body).toMatchObject({ final: false, dealId: named.twin.dealId })
            expect(await traces(named.commandId)).toEqual({ events: 0, commands: 0 })
          }),
      )
    })
  })

  describe('the command resource', () => {
    const read = (path: string) => send({ path, sent: {} })

    it.each(titlesOf(fullStyles))('%s: is read both ways, and listed', async (_title, client) => {
      const named = await holding()
      const first = await through(client, named)
      const { commandId, twin } = named
      const [whole, inDeal, list] = await Promise.all([
        read(`/commands/${commandId}`),
        read(`${twin.path}/commands/${commandId}/`),
        read(`${twin.path}/commands`),
      ])
      expect(whole.status).toBe(200)
      expect(whole.body).toMatchObject({
        id: commandId,
        deal: twin.dealId,
        action: 'HoldDeal',
        params: { reason: 'test' },
        state: 'succeeded',
        status: 200,
        requestedBy: 'alice',
        result: { version: 4, etag: '"4"', changed: true, events: [{ type: 'deal.held', sequence: 4 }] },
        links: { self: `/commands/${commandId}`, deal: twin.path },
      })
      expect(inDeal.text).toBe(whole.text)
      expect(list.body).toEqual({ items: [whole.body], nextCursor: null })
      if (client.form !== 'command') return
      expect(first.text).toBe(whole.text)
      expect((await read(String(first.headers.get('location')))).text).toBe(whole.text)
    })

    it('of a refusal has its problem, and the list has both commands, oldest first', async () => {
      const named = { ...(await holding()), twin: await makeTwin(send, 'CANCELLED') }
      const refused = await through(styleCalled('per-deal-command-collection'), named)
      const view = await read(`/commands/${named.commandId}`)
      expect(view.body).toMatchObject({
        state: 'refused',
        status: 409,
        params: { reason: 'test' },
        problem: refused.body,
      })
      const reopening = { ...named, useCase: 'ReopenDeal', commandId: `key-${randomUUID()}` }
      await through(styleCalled('global-command-collection'), reopening)
      const { items } = (await read(`${named.twin.path}/commands`)).body
      expect(items).toMatchObject([{ state: 'refused' }, { state: 'succeeded', action: 'ReopenDeal' }])
    })

    it('shows amounts as numbers, for every form in which they were sent', async () => {
      const { twin } = await holding()
      const send5 = async (json: object) => {
        const commandId = `key-${randomUUID()}`
        const sent = { method: 'PUT', json: { deal: twin.dealId, ...json } }
        const { status, text, body } = await send({ path: `/commands/${commandId}`, sent })
        expect({ status, text: (await read(`/commands/${commandId}`)).text }).toEqual({ status: 201, text })
        return body.params
      }
      const price = { newPrice: 136.67, reason: 'test' }
      expect(await send5({ action: 'ChangePrice', params: price })).toEqual(price)
      expect(await send5({ action: 'ChangePrice', params: { ...price, newPrice: '0200.50' } })).toEqual({
        ...price,
        newPrice: 200.5,
      })
      const completion = { finalPrice: '1.50', openTasks: 'drop' }
      const headers = { 'idempotency-key': `key-${randomUUID()}` }
      await send({ path: twin.path, sent: { method: 'PATCH', json: { status: 'completed', completion }, headers } })
      const { body } = await read(`/commands/${headers['idempotency-key']}`)
      expect(body.params).toEqual({ status: 'completed', completion: { ...completion, finalPrice: 1.5 } })
    })

    it('is the same for every form of an amount', async () => {
      const { twin } = await holding()
      const headers = { 'idempotency-key': `key-${randomUUID()}` }
      const update = (method: string, path: string, json: object) => send({ path, sent: { method, json, headers } })
      const price = (newPrice: unknown) => update('PUT', `${twin.path}/change-price`, { newPrice, reason: 'test' })
      const first = await price(136.5)
      for (const same of ['136.50', '136.5', '0136.50']) expect((await price(same)).text).toBe(first.text)
      expectProblem(await price('136.51'), 422, 'command-id-reused')
      headers['idempotency-key'] = `key-${randomUUID()}`
      const complete = (finalPrice: unknown) =>
        update('PATCH', twin.path, { status: 'completed', completion: { finalPrice, openTasks: 'drop' } })
      const completed = await complete('2.00')
      expect(completed.status).toBe(200)
      expect((await complete(2)).text).toBe(completed.text)
      expectProblem(await complete(20), 422, 'command-id-reused')
    })

    it('of an attribute update shows its use case and members', async () => {
      const named = await holding()
      await through(styleCalled('attribute update by PATCH'), named)
      const { body } = await read(`/commands/${named.commandId}`)
      expect(body).toMatchObject({ action: 'UpdateDeal', params: { held: true, holdReason: 'test' } })
    })

    it('is 404 for others, for another deal and for an unknown id; and cannot be deleted', async () => {
      const named = await holding()
      await through(styleCalled('global-command-collection'), named)
      const { commandId, twin } = named
      const carol = sendAs(stack.deal, (await stack.logIn('carol')).access)
      const paths = [`/commands/${commandId}`, `${twin.path}/commands/${commandId}`]
      for (const path of paths) expectProblem(await carol({ path, sent: {} }), 404, 'not-found')
      const { path: elsewhere } = await makeTwin(send, 'OPEN')
      expectProblem(await read(`${elsewhere}/commands/${commandId}`), 404, 'not-found')
      expectProblem(await read(`/commands/${randomUUID()}`), 404, 'not-found')
      for (const path of paths) {
        const reply = await send({ path, sent: { method: 'DELETE' } })
        expectProblem(reply, 405, 'method-not-allowed')
        expect(reply.headers.get('allow')).toMatch(/GET.*PUT|PUT.*GET/)
      }
      const own = await carol({ path: `/commands/${commandId}`, sent: { method: 'PUT', json: creationBy('carol') } })
      expect({ status: own.status, by: own.body.requestedBy }).toEqual({ status: 201, by: 'carol' })
    })

    const creationBy = (name: string) => ({ action: 'CreateDeal', params: { name: `deal of ${name}`, price: 1 } })

    it('creates a deal with an id of the server, and returns the id', async () => {
      const commandId = `key-${randomUUID()}`
      const request = { path: `/commands/${commandId}`, sent: { method: 'PUT', json: creationBy('alice') } }
      const [first, again] = [await send(request), await send(request)]
      expect(first.status).toBe(201)
      expect((await stored.load(String(first.body.deal)))?.name).toBe('deal of alice')
      expectByteEqual(again, first)
    })
  })

  it('one id in two collections is one command: the same content replays, other content is 422', async () => {
    const named = await holding()
    const first = await through(styleCalled('global-command-collection'), named)
    const again = await through(styleCalled('per-deal-command-collection'), named)
    expect({ status: again.status, text: again.text }).toEqual({ status: 201, text: first.text })
    const other = { ...named, useCase: 'CompleteTask', params: { taskId: takenTask } }
    expectProblem(await through(styleCalled('per-deal-command-collection'), other), 422, 'command-id-reused')
  })

  it('covers nine commands by attributes', () => expect(attributeUseCases.length).toBe(9))
})
