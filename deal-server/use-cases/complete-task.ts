import * as z from 'zod'
import { requireOpen } from '../domain/deal.ts'
import { isRefusal } from '../domain/refusal.ts'
import { findOpenTask } from '../domain/task.ts'
import { isAssignee } from './assignable-users.ts'
import { defineDealCommand } from './define-use-case.ts'
import { resultText, uuid } from './parameters.ts'

/** Completes a task. Its assignee needs no right. */
export const completeTask = defineDealCommand({
  name: 'CompleteTask',
  summary: 'Complete a task of a deal',
  right: 'deal.task.complete',
  verb: 'complete-task',
  stateName: 'task-completed',
  refusals: ['deal-closed', 'task-not-found', 'task-done', 'task-dropped'],
  params: z.strictObject({ taskId: uuid, result: resultText.nullable().optional() }),
  guard: requireOpen,
  ownNeedsNoRight: true,
  isOwn: (deal, user, params) =>
    deal.tasks.some((task) => isAssignee(task, user) && (params ? task.id === params.taskId : task.status === 'open')),
  decide: (deal, { taskId, result }) => {
    const known = deal.tasks.find(({ id }) => id === taskId)
    if (known?.status === 'done' && (result === undefined || result === known.result)) return []
    const task = findOpenTask(deal.tasks, taskId)
    if (isRefusal(task)) return task
    return [{ type: 'deal.task-completed', data: { taskId, result: result ?? null } }]
  },
})
