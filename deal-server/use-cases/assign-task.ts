import * as z from 'zod'
import { requireOpen } from '../domain/deal.ts'
import { isRefusal } from '../domain/refusal.ts'
import { findOpenTask } from '../domain/task.ts'
import { assignableUserOf, isAssignee, isSameUser } from './assignable-users.ts'
import { defineDealCommand } from './define-use-case.ts'
import { username, uuid } from './parameters.ts'

/** Gives an open task to an enabled user, whether or not it has an assignee. */
export const assignTask = defineDealCommand({
  name: 'AssignTask',
  summary: 'Assign a task of a deal',
  right: 'deal.task.assign',
  verb: 'assign-task',
  stateName: 'task-assigned',
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
    return [{ type: 'deal.task-assigned', data: { taskId, old: task.assigneeId, new: username, newUserId: userId } }]
  },
})
