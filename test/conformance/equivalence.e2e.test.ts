/** Every command in every state of the transition table, in all styles or some of them, through sockets. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { representDeal } from '../../deal-server/http/representations/represent-deal.ts'
import { isEverything } from '../support/campaign.ts'
import { expectProblem, type Reply } from '../support/clients/http-client.ts'
import {
  attributeUseCases,
  covers,
  type StyleClient,
  type StyleRequest,
  styleClients,
} from '../support/clients/style-clients.ts'
import { matrixForm, matrixOf } from '../support/matrix.ts'
import { describeOnce } from '../support/stores/backends.ts'
import { storedDeals, withoutIdsAndTimes } from '../support/stores/stored-deals.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'
import {
  type Cell,
  type DealState,
  dealStates,
  isProblemCode,
  stateOf,
  statusOfCode,
  type TableRow,
  transitionTable,
} from '../support/worlds/transition-table.ts'
import { makeTwin, sendAs, styleCalled, type Twin } from '../support/worlds/twins.ts'

let stack: Stack
let alice: string
let stored: ReturnType<typeof storedDeals>
const cellsRun = new Map<string, number>()

const send = (request: StyleRequest) => sendAs(stack.deal, alice)(request)

/**
 * Where "nothing differs" says success, though the command itself is refused: attributes have no name for what was
 * meant.
 */
const isNothingToAttributes = (useCase: string, state: DealState) =>
  useCase === 'UnholdDeal' && (state === 'COMPLETED' || state === 'CANCELLED')

const cellOf = (client: StyleClient, { useCase, cells }: TableRow, state: DealState): Cell =>
  client.style === 'attribute-update' && isNothingToAttributes(useCase, state) ? 'unchanged' : cells[state]

/** Whether the outcome is that of the table, and so of the other styles. */
const isAsInTable = (client: StyleClient, row: TableRow, state: DealState) =>
  cellOf(client, row, state) === row.cells[state]

/** It runs in every cell: what the other styles are compared with. */
const reference = styleCalled('action by PUT')

const matrix = matrixOf(
  { style: styleClients.filter((client) => client !== reference), row: transitionTable, state: dealStates },
  ({ style, row, state }) => covers(style, row.useCase) && isAsInTable(style, row, state),
)

/** The styles of a cell: the reference, those of the matrix, and those that have an outcome of their own. */
function stylesIn(row: TableRow, state: DealState): StyleClient[] {
  const ofCell = matrix.filter((one) => one.row === row && one.state === state).map(({ style }) => style)
  const apart = styleClients.filter((client) => covers(client, row.useCase) && !isAsInTable(client, row, state))
  return [reference, ...ofCell, ...apart]
}

/** The answers of docs/contract/deals.md#routes-of-the-deal-server. */
async function expectAnswer(client: StyleClient, reply: Reply, ran: { row: TableRow; cell: Cell; twin: Twin }) {
  const { cell, row, twin } = ran
  if (isProblemCode(cell)) return expectProblem(reply, statusOfCode[cell], cell)
  const deal = await stored.load(twin.dealId)
  if (!deal) throw new Error('the deal is stored')
  expect(reply.headers.get('etag')).toBe(`"${deal.version}"`)
  expect(reply.headers.get('deal-changed')).toBe(String(cell !== 'unchanged'))
  if (client.form === 'nothing') {
    expect({ status: reply.status, text: reply.text }).toEqual({ status: 200, text: '' })
    expect(reply.headers.get('location')).toBe(`/rest/v1/deals/${deal.id}`)
  } else if (client.form === 'call') {
    const isShown = deal.deletedAt === null
    expect({ status: reply.status, body: reply.body }).toEqual({
      status: 200,
      body: {
        dealId: deal.id,
        etag: `"${deal.version}"`,
        changed: cell !== 'unchanged',
        useCases: cell === 'unchanged' ? [] : [row.useCase],
        ...(isShown && { deal: JSON.parse(JSON.stringify(representDeal(deal))) }),
      },
    })
  } else if (client.form === 'command') {
    expect(reply.status).toBe(201)
    expect(reply.headers.get('location')).toMatch(/\/commands\/[^/]+$/)
    expect(reply.body).toMatchObject({
      deal: deal.id,
      action: row.useCase,
      state: 'succeeded',
      result: { version: deal.version, etag: `"${deal.version}"`, changed: cell !== 'unchanged' },
    })
  } else if (deal.deletedAt !== null) {
    expect({ status: reply.status, text: reply.text }).toEqual({ status: 204, text: '' })
  } else {
    const isNew = row.useCase === 'CreateDeal' || (client.title === 'natural form' && row.useCase === 'AddTask')
    expect(reply.status).toBe(isNew && cell !== 'unchanged' ? 201 : 200)
    expect(reply.body).toEqual(JSON.parse(JSON.stringify(representDeal(deal))))
    if (row.useCase === 'CreateDeal') expect(reply.headers.get('location')).toBe(`/rest/v1/deals/${deal.id}`)
  }
  return undefined
}

/** One command in one style: what the deal has become, for comparison with its twins. */
async function runCell(client: StyleClient, row: TableRow, state: DealState) {
  const twin = await makeTwin(send, state)
  const request = client.request({ useCase: row.useCase, params: row.params, ...twin })
  if (!request) throw new TypeError(`${client.title} has no form of ${row.useCase}`)
  const before = await stored.load(twin.dealId)
  const reply = await send(request)
  const cell = cellOf(client, row, state)
  await expectAnswer(client, reply, { row, cell, twin })
  const after = await stored.load(twin.dealId)
  if (isProblemCode(cell) || cell === 'unchanged') expect(after).toEqual(before)
  else expect(stateOf(after)).toBe(cell)
  if (after) await stored.expectFolded(twin.dealId)
  const events = await stored.history(twin.dealId)
  const added = events.slice(before?.sequence ?? 0)
  for (const { style, useCase } of added)
    expect({ style, useCase }).toEqual({ style: client.style, useCase: row.useCase })
  cellsRun.set(client.title, (cellsRun.get(client.title) ?? 0) + 1)
  const facts = added.map(({ type, data }) => ({ type, data }))
  return withoutIdsAndTimes({ deal: after, facts, changed: cell !== 'unchanged' }, twin.dealId)
}

/** The outcomes of one command in one state, by style; all but what has just been described must be equal. */
async function runStyles(row: TableRow, state: DealState): Promise<void> {
  const outcomes = await Promise.all(
    stylesIn(row, state).map(async (client) => {
      const outcome = await runCell(client, row, state).catch((error: unknown) => {
        throw new Error(`${client.title}: ${row.useCase} in ${state}`, { cause: error })
      })
      return isAsInTable(client, row, state) ? outcome : undefined
    }),
  )
  const known = outcomes.filter((outcome) => outcome !== undefined)
  expect(known.length).toBeGreaterThanOrEqual(isEverything ? 7 : 2)
  for (const outcome of known) expect(outcome).toEqual(known[0])
}

/** How a client would try by attributes what they cannot express, and what the answer names instead. */
const attempts: Readonly<Record<string, readonly [changes: object, names: RegExp]>> = {
  CreateDeal: [{}, /CreateDeal/],
  DeleteDeal: [{ status: 'deleted' }, /DeleteDeal/],
  RestoreDeal: [{ deletedAt: null, purgeAt: null }, /RestoreDeal/],
  AddTask: [{ tasks: [{ title: 'call them' }] }, /AddTask/],
  AssignTask: [{ tasks: [{ assigneeId: 'carol' }] }, /AssignTask/],
  UnassignTask: [{ tasks: [] }, /UnassignTask/],
  CompleteTask: [{ tasks: [{ status: 'done' }] }, /CompleteTask/],
}

/**
 * The refusal that an attempt by attributes gets; undefined where it changes nothing, or the command does not apply.
 */
function refusalOf(useCase: string, state: DealState): 'not-found' | 'use-case-required' | undefined {
  if (state === 'ABSENT' || state === 'DELETED') return 'not-found'
  return useCase === 'CreateDeal' || useCase === 'RestoreDeal' ? undefined : 'use-case-required'
}

const attemptMatrix = matrixOf({ useCase: Object.keys(attempts), state: dealStates, method: ['PUT', 'PATCH'] as const })

async function runAttempt({ useCase, state, method }: (typeof attemptMatrix)[number]): Promise<void> {
  const [changes, names] = attempts[useCase] ?? [{}, /./]
  const { dealId, read } = await makeTwin(send, state)
  const before = await stored.load(dealId)
  const json = method === 'PUT' ? { ...read, ...changes } : changes
  const reply = await send({ path: `/rest/v1/deals/${dealId}`, sent: { method, json } })
  const code = refusalOf(useCase, state)
  if (code) expectProblem(reply, code === 'not-found' ? 404 : 422, code)
  else expect([reply.status, reply.headers.get('deal-changed')]).toEqual([200, 'false'])
  const isNamed = code === 'use-case-required' || (useCase === 'CreateDeal' ? state === 'ABSENT' : state === 'DELETED')
  if (isNamed && (code === 'use-case-required' || /^(Create|Restore)/.test(useCase))) {
    expect(reply.body.detail).toMatch(names)
  }
  expect(await stored.load(dealId)).toEqual(before)
  cellsRun.set(`refused: ${method}`, (cellsRun.get(`refused: ${method}`) ?? 0) + 1)
}

describeOnce(`the equivalence of all styles: ${matrixForm}`, (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true, logLevel: 'silent' })
    alice = (await stack.logIn('alice')).access
    stored = storedDeals(stack.database)
    cellsRun.clear()
  })
  afterAll(async () => {
    const counts = [...cellsRun].map(([title, count]) => `${title}: ${count}`)
    const total = [...cellsRun.values()].reduce((sum, count) => sum + count, 0)
    process.stdout.write(`equivalence matrix, ${total} cells (${counts.join(', ')})\n`)
    await stack.close()
  })

  describe.each(transitionTable.map((row) => [row.useCase, row] as const))('%s', (_useCase, row) => {
    it.each(dealStates)('in %s', (state) => runStyles(row, state))
  })

  describe.each(Object.keys(attempts))('%s by attributes', (useCase) => {
    it('is one of the seven', () => expect(attributeUseCases).not.toContain(useCase))
    it.each(dealStates)('in %s: names the use case to call', async (state) => {
      const ofCell = attemptMatrix.filter((one) => one.useCase === useCase && one.state === state)
      expect(ofCell.length).toBeGreaterThan(0)
      await Promise.all(ofCell.map(runAttempt))
    })
  })
})
