/** Why each use case may be refused by the state of the deal (deal model 1.5), beside what any command may be refused for. */
import type { DealRefusalCode } from '../../domain/refusal.ts'
import type { Command } from '../../use-cases/define-use-case.ts'

const free = ['deal-closed', 'deal-held'] as const
const openTask = ['deal-closed', 'task-not-found', 'task-done', 'task-dropped'] as const

const refusals: Readonly<Record<string, readonly DealRefusalCode[]>> = {
  CreateDeal: ['deal-exists', 'employee-unknown'],
  DeleteDeal: ['deal-completed'],
  RestoreDeal: [],
  RenameDeal: ['deal-closed'],
  ChangePrice: free,
  ChangeCompletionDate: [...free, 'penalty-limit'],
  HoldDeal: ['deal-closed'],
  UnholdDeal: ['deal-closed'],
  CompleteDeal: [...free, 'open-tasks', 'date-out-of-range'],
  CancelDeal: ['deal-closed', 'penalty-limit'],
  ReopenDeal: [],
  AssignOwner: ['deal-closed', 'employee-unknown'],
  AddTask: ['deal-closed', 'task-exists', 'task-limit', 'employee-unknown'],
  AssignTask: [...openTask, 'employee-unknown'],
  UnassignTask: openTask,
  CompleteTask: openTask,
}

/** The codes of all of `commands` together. @throws TypeError for a command that the table lacks */
export const refusalsOf = (commands: readonly Command[]): readonly DealRefusalCode[] =>
  commands.flatMap(({ name }) => {
    const codes = refusals[name]
    if (!codes) throw new TypeError(`the documentation does not know why ${name} may be refused`)
    return codes
  })

/** What an update of attributes may be refused for besides. */
export const updateRefusals: readonly DealRefusalCode[] = [
  ...(['inconsistent-attributes', 'penalty-required', 'read-only-attribute', 'reason-required'] as const),
  'use-case-required',
]
