/** A caller who works on own deals alone: a foreign deal is as one that never was, in every style and scheme. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isEverything } from '../support/campaign.ts'
import type { Reply } from '../support/clients/http-client.ts'
import { schemeClients } from '../support/clients/scheme-clients/index.ts'
import type { SchemeClient } from '../support/clients/scheme-clients/scheme-client.ts'
import { openSender, type SendWith } from '../support/clients/scheme-clients/send-with.ts'
import { covers, type StyleClient, styleClients } from '../support/clients/style-clients.ts'
import { matrixForm, matrixOf } from '../support/matrix.ts'
import { describeOnce } from '../support/stores/backends.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'
import { type DealState, type TableRow, transitionTable, waysInto } from '../support/worlds/transition-table.ts'
import { makeTwin, type SendRequest, sendAs, type Twin } from '../support/worlds/twins.ts'

let stack: Stack
let alice: SendRequest

/** What the role `seller` may do with an own deal. */
const ofSellers = ['CreateDeal', 'RenameDeal', 'ChangePrice', 'ChangeCompletionDate', 'HoldDeal', 'UnholdDeal']

/** Commands that do not end at the right alone: any assignee completes a task. */
const knownToSellers = [...ofSellers, 'CompleteTask']

const give = async (path: string, employeeId: string, send = alice) => {
  const reply = await send({ path: `${path}/assign-owner`, sent: { method: 'PUT', json: { employeeId } } })
  expect(reply.status, reply.text).toBeLessThan(300)
}

/** A deal of dave's, in this state. */
async function makeOwn(state: DealState): Promise<Twin> {
  if (state === 'ABSENT') return makeTwin(alice, state)
  const { dealId, path } = await makeTwin(alice, 'OPEN')
  await give(path, 'dave')
  const { body: read } = await alice({ path, sent: {} })
  for (const [useCase, params] of waysInto[state].slice(waysInto.OPEN.length)) {
    const reply = await alice({ path: `/command/${useCase}/`, sent: { json: { id: dealId, ...params } } })
    expect(reply.status, reply.text).toBe(200)
  }
  const now = await alice({ path, sent: {} })
  return { dealId, path, read: now.status === 200 ? now.body : read }
}

const grant = async (body: object) => {
  const { access: token } = await stack.logIn('admin')
  const reply = await stack.auth.send('/users/dave', { method: 'PATCH', token, json: body })
  expect(reply.status, reply.text).toBe(200)
}

/** A response without what is different in each. */
const shapeOf = ({ status, text, headers }: Reply, id: string) => ({
  status,
  text: text.replaceAll(id, '{id}').replace(/"(requestId|instance)":"[^"]*"/g, '"$1"'),
  etag: headers.get('etag'),
  length: headers.get('content-length'),
})

const requestBy = (client: StyleClient, { useCase, params }: TableRow, twin: Twin) => {
  const request = client.request({ useCase, params, ...twin, commandId: `own-${randomUUID()}` })
  if (!request) throw new TypeError(`${client.title} has no form of ${useCase}`)
  return request
}

/**
 * Each use case by each style; the schemes take turns, because what a user sees does not hang on them. Tools take
 * access tokens alone.
 */
const cells = matrixOf({ style: styleClients, row: transitionTable }, ({ style, row }) => covers(style, row.useCase))
const matrix = cells.flatMap((cell, index) => {
  const turn = cell.style.style === 'mcp' ? 0 : index % schemeClients.length
  const schemes = isEverything && cell.style.style !== 'mcp' ? schemeClients : schemeClients.slice(turn, turn + 1)
  return schemes.map((scheme) => ({ ...cell, scheme }))
})

const fitting: Readonly<Record<string, DealState>> = {
  CreateDeal: 'ABSENT',
  RestoreDeal: 'DELETED',
  UnholdDeal: 'HELD',
  ReopenDeal: 'CANCELLED',
}

const senders = new Map<SchemeClient, SendWith>()
const senderOf = (client: SchemeClient) => senders.get(client) ?? expect.unreachable()

describeOnce(`own deals: ${matrixForm}`, (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true, logLevel: 'silent' })
    alice = sendAs(stack.deal, (await stack.logIn('alice')).access)
    await grant({ roles: ['seller'] })
    for (const client of schemeClients) senders.set(client, await openSender(client, stack, 'dave'))
  })
  afterAll(() => stack.close())

  it.each(transitionTable.map((row) => [row.useCase, row] as const))('%s', async (useCase, row) => {
    const ofRow = matrix.filter((one) => one.row === row)
    expect(ofRow.length).toBeGreaterThan(0)
    const isCreation = useCase === 'CreateDeal'
    const foreign = await makeTwin(alice, isCreation ? 'OPEN' : (fitting[useCase] ?? 'OPEN'))
    const never = { ...foreign, dealId: randomUUID() }
    for (const { style, scheme } of ofRow) {
      const title = `${style.title} by ${scheme.name}`
      const reply = await senderOf(scheme)(stack.deal, requestBy(style, row, foreign))
      // Without the right in either width, every deal is 403, be it there or not.
      expect(reply.status, `${title}: ${reply.text}`).toBe(
        knownToSellers.includes(useCase) || title.startsWith('attribute') ? 404 : 403,
      )
      if (isCreation) continue
      const absent = await senderOf(scheme)(stack.deal, requestBy(style, row, never))
      expect(shapeOf(reply, foreign.dealId), title).toEqual(shapeOf(absent, never.dealId))
    }
    let owned = await makeOwn(fitting[useCase] ?? 'OPEN')
    for (const { style, scheme } of ofRow) {
      const title = `${style.title} by ${scheme.name}`
      const reply = await senderOf(scheme)(stack.deal, requestBy(style, row, owned))
      if (!ofSellers.includes(useCase)) expect([title, reply.status]).toEqual([title, 403])
      else expect([200, 201, 204, 409], `${title}: ${reply.text}`).toContain(reply.status)
      if (isCreation) owned = await makeOwn('ABSENT')
    }
  })

  describe.each(schemeClients.map((client) => [client.name, client] as const))('by %s', (_, client) => {
    it('reads', async () => {
      const [foreign, owned, never] = [await makeTwin(alice, 'OPEN'), await makeOwn('OPEN'), randomUUID()]
      for (const path of [
        '/rest/v1/deals/{id}',
        '/rest/v1/deals/{id}?expand=allowed',
        '/rest/v1/deals/{id}/history',
        '/rest/v1/deals/{id}/commands',
        '/rest/v1/deals/{id}/holded',
        '/query/Deal/{id}',
        '/query/DealHistory/{id}',
      ]) {
        const read = (id: string) => senderOf(client)(stack.deal, { path: path.replace('{id}', id), sent: {} })
        const [hidden, absent] = [await read(foreign.dealId), await read(never)]
        expect([path, hidden.status]).toEqual([path, 404])
        expect(shapeOf(hidden, foreign.dealId), path).toEqual(shapeOf(absent, never))
        if (!path.endsWith('/commands') && !path.endsWith('/holded'))
          expect([path, (await read(owned.dealId)).status]).toEqual([path, 200])
      }
      for (const path of [
        '/rest/v1/deals?limit=200',
        '/rest/v1/deals?limit=200&sort=updatedAt',
        '/query/Deals/open?limit=200',
      ]) {
        const { text } = await senderOf(client)(stack.deal, { path, sent: {} })
        expect([path, text.includes(owned.dealId), text.includes(foreign.dealId)]).toEqual([path, true, false])
        expect(new Set([...text.matchAll(/"ownerId":"(\w+)"/g)].map(([, owner]) => owner))).toEqual(new Set(['dave']))
      }
    })
  })

  it('hide the outcome of a command that another right let pass, also from a user who may restore all deals', async () => {
    const foreign = await makeTwin(alice, 'OPEN')
    await grant({ roles: [], rights: ['deal.read:own', 'deal.history.read:own', 'deal.hold', 'deal.restore'] })
    const send = sendAs(stack.deal, (await stack.logIn('dave')).access)
    const commandId = `own-${randomUUID()}`
    const json = { reason: 'by another right' }
    const sent = { method: 'PUT', json, headers: { 'idempotency-key': commandId } }
    for (const _ of ['first', 'replay']) {
      const held = await send({ path: `${foreign.path}/hold`, sent })
      expect([held.status, held.text]).toEqual([204, ''])
    }
    for (const path of [`/commands/${commandId}`, `${foreign.path}/commands/${commandId}`, `${foreign.path}/history`]) {
      const reply = await send({ path, sent: {} })
      expect([path, reply.status]).toEqual([path, 404])
    }
    await grant({ roles: ['seller'], rights: [] })
  })
})
