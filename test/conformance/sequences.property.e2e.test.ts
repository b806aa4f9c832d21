/** The same random commands through each style, on a deal each: they end as twins. */
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { campaign } from '../support/campaign.ts'
import { type StyleClient, styleClients } from '../support/clients/style-clients.ts'
import { describeBackends } from '../support/stores/backends.ts'
import { storedDeals, withoutIdsAndTimes } from '../support/stores/stored-deals.ts'
import { openStack, type Stack } from '../support/worlds/stack.ts'
import { freeTask, newTask, takenTask } from '../support/worlds/transition-table.ts'
import { type SendRequest, sendAs, styleCalled } from '../support/worlds/twins.ts'

type Step = readonly [useCase: string, params: Readonly<Record<string, unknown>>]

const of = (useCase: string, params: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Step> =>
  fc.record(params, { noNullPrototype: true }).map((record) => {
    const given = Object.entries(record).filter(([, value]) => value !== undefined)
    return [useCase, Object.fromEntries(given)] as const
  })
const reason = fc.constantFrom('one', 'two', ' two ', 'naïve', 'nai\u0308ve')
/**
 * Attributes cannot say "the same price, for another reason": prices and dates are all different, and so are their
 * reasons. With the bias of fast-check to the bounds, numbers would repeat.
 */
const fresh = fc.noBias(fc.integer({ min: 1, max: 1_000_000_000 }))
const penalty = fc.constantFrom(0, 1.5, '2.50', 2.505)
const employee = fc.constantFrom('alice', 'Carol', 'bob', 'nobody')
const task = fc.constantFrom(freeTask, takenTask, newTask)
const completedOn = fc.constantFrom(undefined, '2020-02-29', '2199-12-31')

const changePrice = fc
  .tuple(fresh, fc.constantFrom(100, 1000))
  .map(([n, scale]): Step => ['ChangePrice', { newPrice: String(n / scale), reason: `because of ${n}` }])
const changeDate = fc
  .tuple(fc.noBias(fc.integer({ min: 1, max: 60_000 })), fresh, penalty)
  .map(([days, n, penaltyAmount]): Step => {
    const newDate = new Date(Date.UTC(2001, 0, days)).toISOString().slice(0, 10)
    return ['ChangeCompletionDate', { newDate, penaltyAmount, whyChanged: `because of ${n}` }]
  })

const step: fc.Arbitrary<Step> = fc.oneof(
  of('CreateDeal', { name: fc.constantFrom('deal123', 'deal'), price: fc.constantFrom(1, 1.234) }),
  of('DeleteDeal', {}),
  { weight: 2, arbitrary: of('RestoreDeal', {}) },
  of('RenameDeal', { newName: fc.constantFrom('deal123', 'deal', 'Ünïcode 🙂') }),
  { weight: 2, arbitrary: changePrice },
  { weight: 2, arbitrary: changeDate },
  of('HoldDeal', { reason, reasonCode: fc.constantFrom(undefined, null, 'code') }),
  { weight: 2, arbitrary: of('UnholdDeal', {}) },
  of('CompleteDeal', { completedOn, openTasks: fc.constantFrom(undefined, 'drop'), comment: fc.constantFrom('', 'x') }),
  of('CancelDeal', { penaltyAmount: penalty, reason }),
  { weight: 3, arbitrary: of('ReopenDeal', { reason }) },
  of('AssignOwner', { employeeId: employee }),
  of('AddTask', { taskId: task, title: fc.constantFrom('write', 'read'), assigneeId: fc.option(employee) }),
  of('AssignTask', { taskId: task, employeeId: employee }),
  of('UnassignTask', { taskId: task, reason: fc.constantFrom(undefined, 'test') }),
  of('CompleteTask', { taskId: task, result: fc.constantFrom(undefined, 'done') }),
)

let stack: Stack
let send: SendRequest
let stored: ReturnType<typeof storedDeals>
const action = styleCalled('action by POST')
const isClosed = (status: unknown) => status === 'completed' || status === 'cancelled'

/**
 * What attributes cannot say of a closed deal, since nothing would differ: that success is told, the command itself is
 * refused.
 */
function isNothingToAttributes([useCase, params]: Step, read: Readonly<Record<string, unknown>>): boolean {
  if (!isClosed(read.status)) return false
  if (useCase === 'RenameDeal') return params.newName === read.name
  if (useCase === 'AssignOwner') return String(params.employeeId).toLowerCase() === read.ownerId
  return useCase === 'UnholdDeal'
}

/** The styles that do not cover a command leave it to the action style. */
function requestOf(client: StyleClient, step: Step, deal: { dealId: string; read: Readonly<Record<string, unknown>> }) {
  const sending = { useCase: step[0], params: step[1], ...deal }
  const leaves = client.style === 'attribute-update' && isNothingToAttributes(step, deal.read)
  return (leaves ? undefined : client.request(sending)) ?? action.request(sending)
}

/** What each command came to, and what the deal is in the end. */
async function runThrough(client: StyleClient, steps: readonly Step[]) {
  const dealId = randomUUID()
  let read: Readonly<Record<string, unknown>> = {}
  const outcomes: unknown[] = []
  for (const next of steps) {
    const request = requestOf(client, next, { dealId, read })
    if (!request) throw new TypeError('the action style covers everything')
    const { status, headers, body } = await send(request)
    outcomes.push([next[0], status < 300 ? headers.get('deal-changed') : [status, body.code]])
    if (client.style !== 'attribute-update') continue
    const current = await send({ path: `/rest/v1/deals/${dealId}`, sent: {} })
    if (current.status === 200) read = current.body
  }
  await stored.expectFolded(dealId)
  const [deal, history] = await Promise.all([stored.load(dealId), stored.history(dealId)])
  const events = history.map(({ type, data }) => ({ type, data }))
  return { outcomes, end: withoutIdsAndTimes({ deal, events }, dealId) }
}

describeBackends('random commands through every style', (openBackend) => {
  beforeAll(async () => {
    stack = await openStack(openBackend, { inProcess: true, logLevel: 'silent' })
    send = sendAs(stack.deal, (await stack.logIn('alice')).access)
    stored = storedDeals(stack.database)
  })
  afterAll(() => stack.close())

  it('give equal results: state, version, events and problem codes', async () => {
    let commands = 0
    const refusals = new Set<unknown>()
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 16, size: 'max' }), async (steps) => {
        const all: readonly Step[] = [['CreateDeal', { name: 'deal123', price: 1234.5 }], ...steps]
        const [first, ...others] = await Promise.all(styleClients.map((client) => runThrough(client, all)))
        for (const other of others) expect(other).toEqual(first)
        commands += all.length * styleClients.length
        for (const outcome of first?.outcomes ?? []) refusals.add(JSON.stringify(outcome))
      }),
      { numRuns: campaign({ short: 3, long: 40 }), endOnFailure: true },
    )
    process.stdout.write(`random commands: ${commands} sent, ${refusals.size} kinds of outcome\n`)
  }, 240_000)
})
