/** A task of a deal: a child entity. Only use cases of its deal change it. */
import { type DealRefusal, refuse } from './refusal.ts'

/** The state of a task. */
export interface Task {
  /** UUID in lower case, unique within its deal. */
  readonly id: string
  readonly title: string
  /** `YYYY-MM-DD`. */
  readonly dueDate: string | null
  /** User name. */
  readonly assigneeId: string | null
  /** The immutable id of that user; null also for an old task, which was assigned without an id. */
  readonly assigneeUserId: string | null
  readonly status: 'open' | 'done' | 'dropped'
  readonly result: string | null
  /** RFC 3339, as all times here. */
  readonly createdAt: string
  readonly assignedAt: string | null
  readonly doneAt: string | null
}

/** A task as clients read it: without the id of its assignee. */
export const shownTask = ({ assigneeUserId: _, ...shown }: Task): Omit<Task, 'assigneeUserId'> => shown

/** The largest number of open tasks of a deal. */
export const maxOpenTasks = 200
/** The largest number of tasks of a deal in all. */
export const maxTasks = 1_000

/** The open task of this id, or the refusal when the task is unknown, done or dropped. */
export function findOpenTask(tasks: readonly Task[], taskId: string): Task | DealRefusal {
  const task = tasks.find(({ id }) => id === taskId)
  if (!task) return refuse('task-not-found', 'The deal has no task of this id.')
  if (task.status === 'done') return refuse('task-done', 'The task is done already.')
  if (task.status === 'dropped') return refuse('task-dropped', 'The task was dropped when the deal was closed.')
  return task
}
