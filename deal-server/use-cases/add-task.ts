import * as z from 'zod'
import { type Deal, openTasks, requireOpen } from '../domain/deal.ts'
import { type DealRefusal, isRefusal, refuse } from '../domain/refusal.ts'
import { maxOpenTasks, maxTasks } from '../domain/task.ts'
import { assignableUserOf, isSameUser } from './assignable-users.ts'
import { defineDealCommand } from './define-use-case.ts'
import { calendarDate, nameText, username, uuid } from './parameters.ts'

/** Adds a task. A client that chooses `taskId` can retry: the same task again changes nothing. */
export const addTask = defineDealCommand({
  name: 'AddTask',
  summary: 'Add a task to a deal',
  right: 'deal.task.add',
  verb: 'add-task',
  stateName: 'task-added',
  makes: 'taskId',
  refusals: ['deal-closed', 'task-exists', 'task-limit', 'employee-unknown'],
  params: z.strictObject({
    taskId: uuid.optional(),
    title: nameText,
    dueDate: calendarDate.nullable().optional(),
    assigneeId: username.nullable().optional(),
  }),
  additionalRights: ({ assigneeId }) => (assigneeId ? ['deal.task.assign'] : []),
  assignableUsers: ({ assigneeId }) => (assigneeId ? [assigneeId] : []),
  guard: requireOpen,
  limit: requireRoom,
  decide: (deal, { taskId, title, dueDate = null, assigneeId: named = null }, context) => {
    const known = deal.tasks.find(({ id }) => id === taskId)
    if (known) {
      const isSame = known.title === title && known.dueDate === dueDate && isSameUser(known.assigneeId, named)
      return isSame ? [] : refuse('task-exists', 'The deal has another task of this id.')
    }
    const assignee = named === null ? null : assignableUserOf(named, 'assigneeId', context)
    if (isRefusal(assignee)) return assignee
    const given = { assigneeId: assignee?.username ?? null, assigneeUserId: assignee?.userId ?? null }
    return [{ type: 'deal.task-added', data: { taskId: taskId ?? context.newId(), title, dueDate, ...given } }]
  },
})

function requireRoom(deal: Deal): DealRefusal | undefined {
  if (openTasks(deal).length >= maxOpenTasks)
    return refuse('task-limit', `A deal has at most ${maxOpenTasks} open tasks.`)
  if (deal.tasks.length >= maxTasks) return refuse('task-limit', `A deal has at most ${maxTasks} tasks.`)
  return undefined
}
