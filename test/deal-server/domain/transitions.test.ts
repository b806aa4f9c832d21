import { describe, expect, it } from 'vitest'
import { isRefusal } from '../../../deal-server/domain/refusal.ts'
import { applyEvents } from '../../../deal-server/use-cases/apply-events.ts'
import { commandNamed, commands } from '../../../deal-server/use-cases/index.ts'
import { afterAllOf, decidePure, doPure, pureDeal, pureNow } from '../../support/worlds/pure-deals.ts'
import {
  type Cell,
  dealStates,
  isProblemCode,
  newTask,
  stateOf,
  type TableRow,
  takenTask,
  transitionTable,
  waysInto,
} from '../../support/worlds/transition-table.ts'

/** Presence is the pipeline's to check: the pure decisions never see these cells. */
const isDecided = (cell: Cell) => cell !== 'not-found'

const cells = transitionTable.flatMap((row) =>
  dealStates.filter((state) => isDecided(row.cells[state])).map((state) => ({ row, state, cell: row.cells[state] })),
)

const typesOf = (step: readonly [string, TableRow['params']], deal: ReturnType<typeof pureDeal> | undefined) => {
  const decision = decidePure(step, deal)
  return isRefusal(decision) ? decision.code : decision.map(({ type }) => type)
}

it('the table has every command once', () => {
  expect(transitionTable.map(({ useCase }) => useCase)).toEqual(commands.map(({ name }) => name))
})

describe(`the transition table: ${cells.length} decided cells`, () => {
  it.each(cells.map(({ row, state, cell }) => [row.useCase, state, cell, row] as const))(
    '%s in %s: %s',
    (useCase, state, cell, { params }) => {
      const deal = afterAllOf(waysInto[state])
      const decision = decidePure([useCase, params], deal)
      if (isProblemCode(cell)) return expect(decision).toMatchObject({ code: cell })
      if (isRefusal(decision)) throw decision
      if (cell === 'unchanged') return expect(decision).toEqual([])
      expect(decision.length).toBeGreaterThan(0)
      const after = applyEvents(deal, decision, { at: pureNow, actor: 'alice' })
      expect(stateOf(after)).toBe(cell)
      expect(after.version).toBe((deal?.version ?? 0) + 1)
      expect(after.sequence).toBe((deal?.sequence ?? 0) + decision.length)
    },
  )

  it.each(dealStates.filter((state) => state !== 'ABSENT' && state !== 'DELETED'))(
    'guards say the same of %s as the decisions',
    (state) => {
      const deal = pureDeal(state)
      for (const { useCase, cells: expected } of transitionTable.slice(1)) {
        const code = commandNamed(useCase)?.guard(deal)?.code
        expect({ useCase, code }).toEqual({
          useCase,
          code: isProblemCode(expected[state]) ? expected[state] : undefined,
        })
      }
    },
  )
})

describe('the target state already, same parameters: unchanged', () => {
  it.each<[string, TableRow['params']]>(
    transitionTable
      .filter(({ useCase }) => useCase !== 'CreateDeal' && useCase !== 'DeleteDeal')
      .map(({ useCase, params }) => [useCase, params]),
  )('%s', (useCase, params) => {
    const before = pureDeal('OPEN')
    const once = doPure([useCase, params], before)
    expect(typesOf([useCase, params], once)).toEqual([])
  })

  it.each<[string, string, TableRow['params']]>([
    ['CompleteDeal', 'the final price', { documentNumber: 'D-1', finalPrice: 1 }],
    ['CompleteDeal', 'the day', { completedOn: '2030-03-30' }],
    ['CompleteDeal', 'a comment', { comment: 'well done' }],
    ['CompleteDeal', 'no document', { documentNumber: null }],
    ['CancelDeal', 'the penalty', { penaltyAmount: 2, reason: 'test' }],
    ['CancelDeal', 'the reason', { penaltyAmount: 1, reason: 'tests' }],
  ])('%s with %s different: closed', (useCase, _what, params) => {
    const deal = pureDeal(useCase === 'CompleteDeal' ? 'COMPLETED' : 'CANCELLED')
    expect(typesOf([useCase, params], deal)).toBe('deal-closed')
  })

  it.each<[string, TableRow['params']]>([
    ['all', { completedOn: '2030-03-31', finalPrice: '1234.50', documentNumber: 'D-1', comment: null }],
    ['no', {}],
    ['some', { documentNumber: 'D-1', openTasks: 'refuse' }],
  ])('CompleteDeal with %s parameters as stored', (_which, params) => {
    expect(typesOf(['CompleteDeal', params], pureDeal('COMPLETED'))).toEqual([])
  })

  it.each<[string, TableRow['params'], unknown]>([
    ['the same title', { taskId: takenTask, title: 'read', dueDate: '2030-05-01', assigneeId: 'ALICE' }, []],
    ['no assignee, whoever has it by now', { taskId: takenTask, title: 'read', dueDate: '2030-05-01' }, []],
    ['its title alone', { taskId: takenTask, title: 'read' }, []],
    ['another title', { taskId: takenTask, title: 'reads', dueDate: '2030-05-01', assigneeId: 'alice' }, 'task-exists'],
    [
      'null for the assignee',
      { taskId: takenTask, title: 'read', dueDate: '2030-05-01', assigneeId: null },
      'task-exists',
    ],
    ['another day', { taskId: takenTask, title: 'read', dueDate: '2030-05-02', assigneeId: 'alice' }, 'task-exists'],
  ])('AddTask with a known id and %s', (_what, params, expected) => {
    expect(typesOf(['AddTask', params], pureDeal('OPEN'))).toEqual(expected)
  })

  it('a hold compares reason and code as a pair, absent is null', () => {
    const held = pureDeal('OPEN', [['HoldDeal', { reason: 'test', reasonCode: 'x' }]])
    expect(typesOf(['HoldDeal', { reason: 'test', reasonCode: 'x' }], held)).toEqual([])
    expect(typesOf(['HoldDeal', { reason: 'test' }], held)).toEqual(['deal.hold-reason-changed'])
    const replaced = doPure(['HoldDeal', { reason: 'test' }], held)
    expect(replaced).toMatchObject({ held: true, holdReasonCode: null, heldAt: held.heldAt })
  })
})

describe('restoring gives the state before the deletion', () => {
  it.each(['OPEN', 'HELD', 'CANCELLED'] as const)('%s', (state) => {
    const before = pureDeal(state)
    const deleted = doPure(['DeleteDeal', {}], before)
    expect(stateOf(deleted)).toBe('DELETED')
    const restored = doPure(['RestoreDeal', {}], deleted)
    expect(restored).toEqual({ ...before, version: before.version + 2, sequence: before.sequence + 2 })
  })
})

it('the guard also applies to an unchanged outcome', () => {
  const completed = pureDeal('OPEN', [
    ['AddTask', { taskId: newTask, title: 'call' }],
    ['CompleteTask', { taskId: newTask }],
    ['CompleteDeal', { openTasks: 'drop' }],
  ])
  expect(typesOf(['CompleteTask', { taskId: newTask }], completed)).toBe('deal-closed')
  expect(typesOf(['RenameDeal', { newName: 'deal123' }], completed)).toBe('deal-closed')
  expect(typesOf(['AssignOwner', { employeeId: 'alice' }], completed)).toBe('deal-closed')
})
