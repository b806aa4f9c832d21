import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { allowedTo } from '../../../deal-server/commands/allowed.ts'
import type { Deal } from '../../../deal-server/domain/deal.ts'
import { isRefusal } from '../../../deal-server/domain/refusal.ts'
import { commandNamed, commands } from '../../../deal-server/use-cases/index.ts'
import { decidePure, pureDeal, withTasks } from '../../support/worlds/pure-deals.ts'
import { freeTask, newTask, takenTask, transitionTable } from '../../support/worlds/transition-table.ts'

/** Refusals by the deal's state alone: the guard of a command says them, and its decision never does. */
const codesOfState = ['deal-closed', 'deal-held', 'deal-completed', 'task-limit']

const open = pureDeal('OPEN')
const reopen = ['ReopenDeal', { reason: 'test' }] as const

const deals: Readonly<Record<string, Deal>> = {
  open,
  held: pureDeal('HELD'),
  completed: pureDeal('COMPLETED'),
  cancelled: pureDeal('CANCELLED'),
  'completed and reopened': pureDeal('COMPLETED', [reopen]),
  'cancelled and reopened': pureDeal('CANCELLED', [reopen]),
  'full of open tasks': withTasks(open, 200, 'open'),
  'full of done tasks': withTasks(pureDeal('HELD'), 1000, 'done'),
  'closed and full': withTasks(pureDeal('COMPLETED'), 1000, 'done'),
}

const text = fc.constantFrom('test', 'other')
const amount = fc.constantFrom<unknown>(0, 1, '1234.50', '1.234', '999999999999.99')
const date = fc.constantFrom('2030-03-31', '2030-06-30', '2199-12-31')
const employee = fc.constantFrom('alice', 'carol', 'nobody')
const task = fc.constantFrom(freeTask, takenTask, newTask, '55555555-5555-4555-8555-000000000007')
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null })
const some = (required: Record<string, fc.Arbitrary<unknown>>, optional: Record<string, fc.Arbitrary<unknown>> = {}) =>
  fc.record({ ...required, ...optional }, { requiredKeys: Object.keys(required) })

/** Parameters of every command on a deal: some of them say what is so already. */
const firstParameters: Readonly<Record<string, fc.Arbitrary<Readonly<Record<string, unknown>>>>> = {
  DeleteDeal: some({}),
  RestoreDeal: some({}),
  RenameDeal: some({ newName: fc.constantFrom('deal', 'deal123', 'other') }),
  ChangePrice: some({ newPrice: amount, reason: text }),
  ChangeCompletionDate: some({ newDate: maybe(date), penaltyAmount: amount, whyChanged: text }),
  HoldDeal: some({ reason: text }, { reasonCode: maybe(fc.constant('code')) }),
  UnholdDeal: some({}),
  CompleteDeal: some(
    {},
    {
      completedOn: date,
      finalPrice: amount,
      documentNumber: maybe(fc.constant('D-1')),
      comment: maybe(text),
      openTasks: fc.constantFrom('refuse', 'drop'),
    },
  ),
  CancelDeal: some({ penaltyAmount: amount, reason: text }),
  ReopenDeal: some({ reason: text }),
  AssignOwner: some({ employeeId: employee }),
  AddTask: some(
    { title: fc.constantFrom('call', 'write') },
    { taskId: task, dueDate: maybe(date), assigneeId: maybe(employee) },
  ),
  AssignTask: some({ taskId: task, employeeId: employee }),
  UnassignTask: some({ taskId: task }, { reason: maybe(text) }),
  CompleteTask: some({ taskId: task }, { result: maybe(text) }),
}

/** A use case that came later has the parameters of the transition table. */
const laterParameters = transitionTable.flatMap(({ useCase, params }) =>
  useCase === 'CreateDeal' || Object.hasOwn(firstParameters, useCase) ? [] : [[useCase, fc.constant(params)] as const],
)

const parameters = { ...firstParameters, ...Object.fromEntries(laterParameters) }

const rights = new Set(commands.map(({ right }) => right))
const asking = { username: 'alice', userId: 'id of alice', rights, credential: {} }

it('knows every command on a deal', () => {
  const onDeal = commands.filter(({ target }) => target === 'deal').map(({ name }) => name)
  expect(Object.keys(parameters).sort()).toEqual(onDeal.sort())
})

describe.each(Object.entries(deals))('with a deal that is %s', (_state, deal) => {
  const { allowed, withoutEffect, blocked } = allowedTo(asking, deal)

  it.each(Object.entries(parameters))('`allowed` and the decision agree: %s', (useCase, params) => {
    const code = commandNamed(useCase)?.guard(deal)?.code
    expect(allowed.includes(useCase)).toBe(code === undefined)
    expect(blocked.find((one) => one.useCase === useCase)?.code).toBe(code)
    fc.assert(
      fc.property(params, (given) => {
        const decision = decidePure([useCase, given], deal)
        if (code !== undefined && !isRefusal(decision)) expect(decision).toEqual([])
        if (withoutEffect.includes(useCase)) expect(decision).toEqual([])
        if (isRefusal(decision) && codesOfState.includes(decision.code)) expect(decision.code).toBe(code)
      }),
      { numRuns: 60 },
    )
  })
})
