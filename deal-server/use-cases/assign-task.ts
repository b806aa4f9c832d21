import { z } from 'zod'
import { requireOpen } from '../domain/deal.ts'
import { isRefusal } from '../domain/refusal.ts'
import { findOpenTask } from '../domain/task.ts'
import { employeeOf, isAssignee, isSameUser } from './assignable-users.ts'
import { defineDealCommand } from './define-use-case.ts'
import { username, uuid } from './parameters.ts'

/** Gives an open task to an enabled user, whoever had it before. */
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
    const assignee = employeeOf(employeeId, 'employeeId', context)
    // Also to one who has been disabled since; not to another one who has the name now.
    if (isRefusal(assignee)) return isSameUser(task.assigneeId, employeeId) ? [] : assignee
    if (isAssignee(task, assignee)) return []
    const { username, userId } = assignee
    return [{ type: 'deal.task-assigned', data: { taskId, old: task.assigneeId, new: username, newUserId: userId } }]
  },
})
