import * as z from 'zod'
import { type Deal, openTasks, requireOpen } from '../domain/deal.ts'
import { defineEvent, labelled } from '../domain/events.ts'
import { type DealRefusal, isRefusal, refuse } from '../domain/refusal.ts'
import { maxOpenTasks, maxTasks } from '../domain/task.ts'
import { assigningTasks } from './assign-task.ts'
import { assignableUserOf, isSameUser } from './assignable-users.ts'
import { defineDealCommand } from './define-use-case.ts'
import { calendarDate, nameText, username, uuid } from './parameters.ts'

const params = z.strictObject({
  taskId: uuid.optional(),
  title: nameText,
  dueDate: calendarDate.nullable().optional(),
  assigneeId: username.nullable().optional(),
})

interface AddedTask {
  readonly taskId: string
  readonly title: string
  readonly dueDate: string | null
  readonly assigneeId: string | null
  /** The immutable id of the assignee; absent in old events. */
  readonly assigneeUserId?: string | null
}

const taskAdded = defineEvent({
  type: 'deal.task-added',
  phrase: 'added a task',
  details: (facts) => [
    facts.text('title'),
    labelled('Assignee', facts.text('assigneeId')),
    labelled('Due', facts.date('dueDate')),
  ],
  apply: (deal, { taskId: id, title, dueDate, assigneeId, assigneeUserId = null }: AddedTask, { at: createdAt }) => {
    const assigned = { assigneeId, assigneeUserId, assignedAt: assigneeId && createdAt }
    const task = { id, title, dueDate, createdAt, ...assigned, status: 'open', result: null, doneAt: null } as const
    return { ...deal, tasks: [...deal.tasks, task] }
  },
})

/**
 * Adds a task. A client that chooses `taskId` can retry: the same task again changes nothing. Parameters that are
 * left out count as equal: so whoever has the task by now, it is the same.
 */
export const addTask = defineDealCommand({
  name: 'AddTask',
  summary: 'Add a task to a deal',
  right: { name: 'deal.task.add', description: 'Add tasks', own: 'Add tasks to own deals' },
  verb: 'add-task',
  stateName: 'task-added',
  makes: 'taskId',
  words: { title: 'Add a task', done: 'The task is added.' },
  events: [taskAdded],
  refusals: ['deal-closed', 'task-exists', 'task-limit', 'employee-unknown'],
  params,
  additionalRights: ({ assigneeId }) => (assigneeId ? [assigningTasks.name] : []),
  assignableUsers: ({ assigneeId }) => (assigneeId ? [assigneeId] : []),
  guard: requireOpen,
  limit: requireRoom,
  isDone: isAdded,
  decide: (deal, { taskId, title, dueDate = null, assigneeId: named = null }, context) => {
    if (taskOf(deal, taskId)) return refuse('task-exists', 'The deal has another task of this id.')
    const assignee = named === null ? null : assignableUserOf(named, 'assigneeId', context)
    if (isRefusal(assignee)) return assignee
    const given = { assigneeId: assignee?.username ?? null, assigneeUserId: assignee?.userId ?? null }
    return [taskAdded({ taskId: taskId ?? context.newId(), title, dueDate, ...given })]
  },
})

const taskOf = (deal: Deal, taskId: string | undefined) => deal.tasks.find(({ id }) => id === taskId)

/** True for a deal that has this task. */
function isAdded(deal: Deal, { taskId, title, dueDate, assigneeId }: z.output<typeof params>): boolean {
  const known = taskOf(deal, taskId)
  if (known?.title !== title || (dueDate !== undefined && known.dueDate !== dueDate)) return false
  return assigneeId === undefined || isSameUser(known.assigneeId, assigneeId)
}

function requireRoom(deal: Deal): DealRefusal | undefined {
  if (openTasks(deal).length >= maxOpenTasks)
    return refuse('task-limit', `A deal has at most ${maxOpenTasks} open tasks.`)
  if (deal.tasks.length >= maxTasks) return refuse('task-limit', `A deal has at most ${maxTasks} tasks.`)
  return undefined
}
