import * as z from 'zod'
import { requireOpen, withTask } from '../domain/deal.ts'
import { changed, defineEvent } from '../domain/events.ts'
import { isRefusal } from '../domain/refusal.ts'
import { findOpenTask } from '../domain/task.ts'
import { assignableUserOf, isAssignee, isSameUser } from './assignable-users.ts'
import { defineDealCommand } from './define-use-case.ts'
import { username, uuid } from './parameters.ts'

interface NewAssignee {
  readonly taskId: string
  readonly old: string | null
  readonly new: string
  /** The immutable id of the new one; absent in old events. */
  readonly newUserId?: string
}

const taskAssigned = defineEvent({
  type: 'deal.task-assigned',
  phrase: 'assigned a task',
  details: (facts) => [facts.task(), changed(facts.text('old'), facts.text('new'))],
  apply: (deal, { taskId, new: assigneeId, newUserId }: NewAssignee, { at }) =>
    withTask(deal, taskId, { assigneeId, assigneeUserId: newUserId ?? null, assignedAt: at }),
})

/** The right to give tasks to users and to take them away. */
export const assigningTasks = {
  name: 'deal.task.assign',
  description: 'Assign tasks',
  own: 'Assign tasks of own deals',
} as const

/** Gives an open task to an enabled user, whether or not it has an assignee. */
export const assignTask = defineDealCommand({
  name: 'AssignTask',
  summary: 'Assign a task of a deal',
  right: assigningTasks,
  verb: 'assign-task',
  stateName: 'task-assigned',
  words: { title: 'Assign', done: 'The task is assigned.', pageTitle: 'Assign a task' },
  events: [taskAssigned],
  refusals: ['deal-closed', 'task-not-found', 'task-done', 'task-dropped', 'employee-unknown'],
  params: z.strictObject({ taskId: uuid, employeeId: username }),
  guard: requireOpen,
  assignableUsers: ({ employeeId }) => [employeeId],
  decide: (deal, { taskId, employeeId }, context) => {
    const task = findOpenTask(deal.tasks, taskId)
    if (isRefusal(task)) return task
    const assignee = assignableUserOf(employeeId, 'employeeId', context)
    // An assignee who was disabled later stays. Another user who has the name now is no longer the assignee.
    if (isRefusal(assignee)) return isSameUser(task.assigneeId, employeeId) ? [] : assignee
    if (isAssignee(task, assignee)) return []
    const { username, userId } = assignee
    return [taskAssigned({ taskId, old: task.assigneeId, new: username, newUserId: userId })]
  },
})
