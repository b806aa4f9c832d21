/**
 * The transition table (docs/deal-model.md#transitions) as data: what each command comes to in each state, for the pure
 * decisions and for every style.
 */

/** `ABSENT`: there never was such a deal. */
export const dealStates = ['ABSENT', 'OPEN', 'HELD', 'COMPLETED', 'CANCELLED', 'DELETED'] as const
export type DealState = (typeof dealStates)[number]

/** What a command comes to: the next state when it changed something, `unchanged`, or the code of the problem. */
export type Cell = DealState | 'unchanged' | ProblemCode
type ProblemCode = keyof typeof statusOfCode

export const statusOfCode = {
  'deal-exists': 409,
  'deal-closed': 409,
  'deal-held': 409,
  'deal-completed': 409,
  'not-found': 404,
} as const

export const isProblemCode = (cell: Cell): cell is ProblemCode => Object.hasOwn(statusOfCode, cell)

/** Tasks of every deal of the table: one that nobody has, one of alice. */
export const freeTask = '11111111-1111-4111-8111-111111111111'
export const takenTask = '22222222-2222-4222-8222-222222222222'
export const newTask = '33333333-3333-4333-8333-333333333333'

export interface TableRow {
  readonly useCase: string
  readonly params: Readonly<Record<string, unknown>>
  readonly cells: Readonly<Record<DealState, Cell>>
}

/** Cells in the order of the states, without ABSENT. */
type Cells = readonly [Cell, Cell, Cell, Cell, Cell]

const row = (useCase: string, params: TableRow['params'], cells: Cells, absent: Cell = 'not-found'): TableRow => {
  const [OPEN, HELD, COMPLETED, CANCELLED, DELETED] = cells
  return { useCase, params, cells: { ABSENT: absent, OPEN, HELD, COMPLETED, CANCELLED, DELETED } }
}

const closed = 'deal-closed'
const gone = 'not-found'
/** The state stays; the deal does not. */
const whileOpen: Cells = ['OPEN', 'HELD', closed, closed, gone]
const whileFree: Cells = ['OPEN', 'deal-held', closed, closed, gone]
const same = 'unchanged'

export const transitionTable: readonly TableRow[] = [
  row('CreateDeal', { name: 'deal123', price: 12.5 }, Array(5).fill('deal-exists') as unknown as Cells, 'OPEN'),
  row('DeleteDeal', {}, ['DELETED', 'DELETED', 'deal-completed', 'DELETED', gone]),
  row('RestoreDeal', {}, [same, same, same, same, 'OPEN']),
  row('RenameDeal', { newName: 'another name' }, whileOpen),
  row('ChangePrice', { newPrice: 136.67, reason: 'dearer' }, whileFree),
  row('ChangeCompletionDate', { newDate: '2031-01-31', penaltyAmount: 20.29, whyChanged: 'late' }, whileFree),
  row('HoldDeal', { reason: 'waiting', reasonCode: 'wait' }, ['HELD', 'HELD', closed, closed, gone]),
  row('UnholdDeal', {}, [same, 'OPEN', closed, closed, gone]),
  row('CompleteDeal', { documentNumber: 'D-2', openTasks: 'drop' }, ['COMPLETED', 'deal-held', closed, closed, gone]),
  row('CancelDeal', { penaltyAmount: 23.9, reason: 'no money' }, ['CANCELLED', 'CANCELLED', closed, closed, gone]),
  row('ReopenDeal', { reason: 'once more' }, [same, same, 'OPEN', 'OPEN', gone]),
  row('AssignOwner', { employeeId: 'carol' }, whileOpen),
  row('AddTask', { taskId: newTask, title: 'call them' }, whileOpen),
  row('AssignTask', { taskId: freeTask, employeeId: 'carol' }, whileOpen),
  row('UnassignTask', { taskId: takenTask, reason: 'on leave' }, whileOpen),
  row('CompleteTask', { taskId: freeTask, result: 'called' }, whileOpen),
]

type Step = readonly [useCase: string, params: Readonly<Record<string, unknown>>]

const creation: readonly Step[] = [
  ['CreateDeal', { name: 'deal123', price: 1234.5, completionDate: '2030-06-30' }],
  ['AddTask', { taskId: freeTask, title: 'write' }],
  ['AddTask', { taskId: takenTask, title: 'read', assigneeId: 'alice', dueDate: '2030-05-01' }],
]

/** The commands that bring a deal into a state. */
export const waysInto: Readonly<Record<DealState, readonly Step[]>> = {
  ABSENT: [],
  OPEN: creation,
  HELD: [...creation, ['HoldDeal', { reason: 'test' }]],
  COMPLETED: [...creation, ['CompleteDeal', { documentNumber: 'D-1', openTasks: 'drop' }]],
  CANCELLED: [...creation, ['CancelDeal', { penaltyAmount: 1, reason: 'test' }]],
  DELETED: [...creation, ['DeleteDeal', {}]],
}

/** Which state a deal is in. */
export function stateOf(
  deal: { readonly deletedAt: string | null; readonly status: string; readonly held: boolean } | undefined,
): DealState {
  if (deal === undefined) return 'ABSENT'
  if (deal.deletedAt !== null) return 'DELETED'
  if (deal.status === 'completed') return 'COMPLETED'
  if (deal.status === 'cancelled') return 'CANCELLED'
  return deal.held ? 'HELD' : 'OPEN'
}
