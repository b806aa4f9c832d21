/** A task of a deal: a child entity that only the deal's own use cases change. */
import { type DealRefusal, refuse } from './refusal.ts'

export interface Task {
  /** UUID in lower case, unique within its deal. */
  readonly id: string
  readonly title: string
  /** `YYYY-MM-DD`. */
  readonly dueDate: string | null
  /** User name. */
  readonly assigneeId: string | null
  /** The immutable id of that user; null also for a task that was assigned before ids were kept. */
  readonly assigneeUserId: string | null
  readonly status: 'open' | 'done' | 'dropped'
  readonly result: string | null
  /** RFC 3339, as all times here. */
  readonly createdAt: string
  readonly assignedAt: string | null
  readonly doneAt: string | null
}

/** A task as clients read it: without the id of its user. */
export const shownTask = ({ assigneeUserId: _, ...shown }: Task): Omit<Task, 'assigneeUserId'> => shown

/** At most so many open tasks a deal may have. */
export const maxOpenTasks = 200
/** At most so many tasks a deal may have in all. */
export const maxTasks = 1_000

/** The task of this id, or why there is none to work on: unknown, done or dropped. */
export function findOpenTask(tasks: readonly Task[], taskId: string): Task | DealRefusal {
  const task = tasks.find(({ id }) => id === taskId)
  if (!task) return refuse('task-not-found', 'The deal has no task of this id.')
  if (task.status === 'done') return refuse('task-done', 'The task is done already.')
  if (task.status === 'dropped') return refuse('task-dropped', 'The task was dropped when the deal was closed.')
  return task
}
