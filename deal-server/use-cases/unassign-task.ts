import * as z from 'zod'
import { requireOpen } from '../domain/deal.ts'
import { isRefusal } from '../domain/refusal.ts'
import { findOpenTask } from '../domain/task.ts'
import { defineDealCommand } from './define-use-case.ts'
import { reasonText, uuid } from './parameters.ts'

/** Removes the assignee of an open task. A task without an assignee stays as it is. */
export const unassignTask = defineDealCommand({
  name: 'UnassignTask',
  summary: 'Unassign a task of a deal',
  right: 'deal.task.assign',
  verb: 'unassign-task',
  stateName: 'task-unassigned',
  refusals: ['deal-closed', 'task-not-found', 'task-done', 'task-dropped'],
  params: z.strictObject({ taskId: uuid, reason: reasonText.nullable().optional() }),
  guard: requireOpen,
  decide: (deal, { taskId, reason = null }) => {
    const task = findOpenTask(deal.tasks, taskId)
    if (isRefusal(task)) return task
    if (task.assigneeId === null) return []
    return [{ type: 'deal.task-unassigned', data: { taskId, old: task.assigneeId, reason } }]
  },
})
