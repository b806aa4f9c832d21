import { describe, expect, it } from 'vitest'
import { allowedTo } from '../../../deal-server/commands/allowed.ts'
import type { Deal } from '../../../deal-server/domain/deal.ts'
import { isRefusal } from '../../../deal-server/domain/refusal.ts'
import { commands } from '../../../deal-server/use-cases/index.ts'
import { bindAttributeUpdate } from '../../../deal-server/use-cases/update-deal/update-deal.ts'
import { decidePure, doPure, pureDeal, withTasks } from '../../support/worlds/pure-deals.ts'
import { freeTask, newTask, takenTask } from '../../support/worlds/transition-table.ts'

type Step = Parameters<typeof decidePure>[0]

const outcomeOf = (...args: Parameters<typeof decidePure>) => {
  const decision = decidePure(...args)
  return isRefusal(decision) ? decision.code : decision.map(({ type }) => type)
}
const open = pureDeal('OPEN')
const unknown = '44444444-4444-4444-8444-444444444444'

describe('tasks', () => {
  const onTask: [string, object][] = [
    ['AssignTask', { employeeId: 'carol' }],
    ['UnassignTask', {}],
    ['CompleteTask', { result: 'other' }],
  ]
  it.each(onTask)('%s: unknown, done, dropped', (useCase, more) => {
    const done = doPure(['CompleteTask', { taskId: takenTask, result: 'done' }], open)
    const dropped = pureDeal('CANCELLED', [['ReopenDeal', { reason: 'test' }]])
    expect(outcomeOf([useCase, { taskId: unknown, ...more }], open)).toBe('task-not-found')
    expect(outcomeOf([useCase, { taskId: takenTask, ...more }], done)).toBe('task-done')
    expect(outcomeOf([useCase, { taskId: takenTask, ...more }], dropped)).toBe('task-dropped')
  })

  it('a done task with the same result, or without one, is unchanged', () => {
    const done = doPure(['CompleteTask', { taskId: freeTask, result: 'called' }], open)
    expect(outcomeOf(['CompleteTask', { taskId: freeTask }], done)).toEqual([])
    expect(outcomeOf(['CompleteTask', { taskId: freeTask, result: 'called' }], done)).toEqual([])
    expect(outcomeOf(['CompleteTask', { taskId: freeTask, result: null }], done)).toBe('task-done')
  })

  it('a task is assigned to another user, to the same user, and to none', () => {
    expect(outcomeOf(['AssignTask', { taskId: takenTask, employeeId: 'carol' }], open)).toEqual(['deal.task-assigned'])
    expect(outcomeOf(['AssignTask', { taskId: takenTask, employeeId: 'Alice' }], open)).toEqual([])
    expect(outcomeOf(['UnassignTask', { taskId: freeTask }], open)).toEqual([])
  })

  it.each([
    [199, 'open', undefined],
    [200, 'open', 'task-limit'],
    [999, 'done', undefined],
    [1000, 'done', 'task-limit'],
  ] as const)('one more beside %d %s tasks is refused, and said to be blocked, by %s', (count, status, code) => {
    const deal = withTasks(open, count, status)
    expect(outcomeOf(['AddTask', { taskId: newTask, title: 'call' }], deal)).toEqual(code ?? ['deal.task-added'])
    const rights = new Set(commands.map(({ right }) => right))
    const { allowed, blocked } = allowedTo({ username: 'alice', userId: 'id of alice', rights, credential: {} }, deal)
    expect(allowed.includes('AddTask')).toBe(code === undefined)
    expect(blocked).toEqual(code === undefined ? [] : [{ useCase: 'AddTask', code }])
  })

  it('a known task is unchanged, even when there is no room for another one', () => {
    const full = withTasks(open, 200, 'open')
    const step: Step = ['AddTask', { taskId: full.tasks[7]?.id, title: 'write' }]
    expect(outcomeOf(step, full)).toEqual([])
  })

  it('closing drops open tasks, and keeps done tasks', () => {
    const before = doPure(['CompleteTask', { taskId: freeTask }], open)
    for (const step of [
      ['CompleteDeal', { openTasks: 'drop' }],
      ['CancelDeal', { penaltyAmount: 0, reason: 'test' }],
    ] as const) {
      expect(outcomeOf(step, before).slice(1)).toEqual(['deal.task-dropped'])
      const closed = doPure(step, before)
      expect(closed.tasks.map(({ status }) => status)).toEqual(['done', 'dropped'])
      const reopened = doPure(['ReopenDeal', { reason: 'test' }], closed)
      expect(reopened.tasks.map(({ status }) => status)).toEqual(['done', 'dropped'])
      expect(reopened).toMatchObject({ completion: null, cancelReason: null, cancelPenalty: null, cancelledAt: null })
    }
  })

  it.each([{}, { openTasks: 'refuse' }])('completion with %j and open tasks is refused', (params) => {
    expect(decidePure(['CompleteDeal', params], open)).toMatchObject({ code: 'open-tasks', members: { openTasks: 2 } })
  })
})

describe('assignable users', () => {
  it.each<[string, Step, Deal | undefined, string]>([
    ['owner', ['CreateDeal', { name: 'deal', price: 1, ownerId: 'nobody' }], undefined, '/ownerId'],
    ['new owner', ['AssignOwner', { employeeId: 'nobody' }], open, '/employeeId'],
    ['assignee', ['AssignTask', { taskId: freeTask, employeeId: 'nobody' }], open, '/employeeId'],
    ['assignee of a new task', ['AddTask', { title: 'call', assigneeId: 'nobody' }], open, '/assigneeId'],
  ])('an unknown %s', (_who, step, deal, pointer) => {
    expect(decidePure(step, deal)).toMatchObject({ code: 'employee-unknown', members: { errors: [{ pointer }] } })
  })

  it('who were disabled later may be named again as owner or assignee', () => {
    const context = { assignableUsers: new Map<string, never>() }
    const known = open.tasks.find(({ id }) => id === takenTask)
    const again: Step[] = [
      ['AssignOwner', { employeeId: open.ownerId.toUpperCase() }],
      ['AssignTask', { taskId: takenTask, employeeId: 'Alice' }],
      ['AddTask', { taskId: takenTask, title: known?.title, dueDate: known?.dueDate, assigneeId: 'ALICE' }],
    ]
    for (const step of again) expect(outcomeOf(step, open, context)).toEqual([])
    expect(outcomeOf(['AssignTask', { taskId: freeTask, employeeId: 'alice' }], open, context)).toBe('employee-unknown')
  })

  it('are not the former users of a name: a task of the former user can be assigned to the new one', () => {
    const assignableUsers = new Map([['alice', { username: 'alice', userId: 'id of another alice' }]])
    const step: Step = ['AssignTask', { taskId: takenTask, employeeId: 'alice' }]
    const data = { taskId: takenTask, old: 'alice', new: 'alice', newUserId: 'id of another alice' }
    expect(decidePure(step, open, { assignableUsers })).toEqual([{ type: 'deal.task-assigned', data }])
  })

  it('are looked up for an update of attributes only when it names another owner', () => {
    const { id: dealId, name, ownerId } = open
    const namesOf = (body: object) =>
      bindAttributeUpdate(body, { dealId, whole: false }).bound.assignableUsers({ ...open, ownerId: 'gone' })
    expect(namesOf({ name: 'other' })).toEqual([])
    expect(namesOf({ name, ownerId: 'Gone' })).toEqual([])
    expect(namesOf({ name: 'other', ownerId })).toEqual([ownerId])
  })

  it('are stored in the spelling of their creation', () => {
    expect(doPure(['AssignOwner', { employeeId: 'CAROL' }], open).ownerId).toBe('carol')
  })
})

describe('penalties', () => {
  const cancel = (penaltyAmount: unknown): Step => ['CancelDeal', { penaltyAmount, reason: 'test' }]
  const date = (penaltyAmount: unknown): Step => [
    'ChangeCompletionDate',
    { newDate: null, penaltyAmount, whyChanged: 'test' },
  ]

  it('add up, and stay charged on reopening', () => {
    const dated = doPure(date('0.10'), open)
    expect(dated).toMatchObject({ completionDate: null, penaltyTotal: 10, completionDatePenalty: 10 })
    const cancelled = doPure(cancel(0.2), dated)
    expect(cancelled).toMatchObject({ penaltyTotal: 30, cancelPenalty: 20 })
    expect(doPure(['ReopenDeal', { reason: 'test' }], cancelled).penaltyTotal).toBe(30)
  })

  it('of 0 are not charged', () => {
    expect(outcomeOf(date(0), open)).toEqual(['deal.completion-date-changed'])
    expect(outcomeOf(cancel(0), doPure(['HoldDeal', { reason: 'x' }], open))).toEqual([
      'deal.cancelled',
      'deal.task-dropped',
      'deal.task-dropped',
    ])
  })

  it.each([
    ['EUR', 0, '999999999999.99', true],
    ['EUR', 1, '999999999999.98', true],
    ['EUR', 1, '999999999999.99', false],
    ['JPY', 0, '999999999999', true],
    ['JPY', 1, '999999999999', false],
    ['KWD', 1, '999999999999.999', false],
  ])('in %s, beside %d: %s fits: %s', (currency, penaltyTotal, amount, fits) => {
    const deal = { ...open, currency, penaltyTotal }
    for (const step of [date(amount), cancel(amount)]) {
      if (fits) expect(outcomeOf(step, deal)).toContain('deal.penalty-charged')
      else expect(outcomeOf(step, deal)).toBe('penalty-limit')
    }
  })
})

describe('the day of completion: at most today in UTC+14', () => {
  const at = (now: string, completedOn: string) =>
    outcomeOf(['CompleteDeal', { completedOn, openTasks: 'drop' }], open, { now })
  it.each([
    ['2030-03-31T09:59:59.999Z', '2030-03-31', true],
    ['2030-03-31T09:59:59.999Z', '2030-04-01', false],
    ['2030-03-31T10:00:00.000Z', '2030-04-01', true],
    ['2030-03-31T23:59:59.999Z', '2030-04-02', false],
    ['2028-02-28T10:00:00.000Z', '2028-02-29', true],
    ['2030-12-31T10:00:00.000Z', '2031-01-01', true],
    ['2030-03-31T00:00:00.000Z', '2000-01-01', true],
  ])('at %s: %s is fine: %s', (now, day, fine) => {
    if (fine) expect(at(now, day)[0]).toBe('deal.completed')
    else expect(at(now, day)).toBe('date-out-of-range')
  })
})
