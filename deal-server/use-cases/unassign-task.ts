import * as z from 'zod'
import { requireOpen, withTask } from '../domain/deal.ts'
import { defineEvent, labelled } from '../domain/events.ts'
import { isRefusal } from '../domain/refusal.ts'
import { findOpenTask } from '../domain/task.ts'
import { assigningTasks } from './assign-task.ts'
import { defineDealCommand } from './define-use-case.ts'
import { reasonText, uuid } from './parameters.ts'

const taskUnassigned = defineEvent({
  type: 'deal.task-unassigned',
  phrase: 'took a task from its assignee',
  details: (facts) => [facts.task(), labelled('Assignee', facts.text('old')), facts.text('reason')],
  apply: (deal, { taskId }: { taskId: string; old: string; reason: string | null }) =>
    withTask(deal, taskId, { assigneeId: null, assigneeUserId: null, assignedAt: null }),
})

/** Removes the assignee of an open task. A task without an assignee stays as it is. */
export const unassignTask = defineDealCommand({
  name: 'UnassignTask',
  summary: 'Unassign a task of a deal',
  right: assigningTasks,
  verb: 'unassign-task',
  stateName: 'task-unassigned',
  words: { title: 'Unassign', done: 'The task has no assignee any more.', pageTitle: 'Unassign a task' },
  events: [taskUnassigned],
  refusals: ['deal-closed', 'task-not-found', 'task-done', 'task-dropped'],
  params: z.strictObject({ taskId: uuid, reason: reasonText.nullable().optional() }),
  guard: requireOpen,
  decide: (deal, { taskId, reason = null }) => {
    const task = findOpenTask(deal.tasks, taskId)
    if (isRefusal(task)) return task
    if (task.assigneeId === null) return []
    return [taskUnassigned({ taskId, old: task.assigneeId, reason })]
  },
})
