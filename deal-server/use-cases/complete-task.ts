import * as z from 'zod'
import { requireOpen, withTask } from '../domain/deal.ts'
import { defineEvent, labelled } from '../domain/events.ts'
import { isRefusal } from '../domain/refusal.ts'
import { findOpenTask } from '../domain/task.ts'
import { isAssignee } from './assignable-users.ts'
import { defineDealCommand } from './define-use-case.ts'
import { resultText, uuid } from './parameters.ts'

const taskCompleted = defineEvent({
  type: 'deal.task-completed',
  phrase: 'completed a task',
  details: (facts) => [facts.task(), labelled('Result', facts.text('result'))],
  apply: (deal, { taskId, result }: { taskId: string; result: string | null }, { at }) =>
    withTask(deal, taskId, { status: 'done', result, doneAt: at }),
})

/** Completes a task. Its assignee needs no right. */
export const completeTask = defineDealCommand({
  name: 'CompleteTask',
  summary: 'Complete a task of a deal',
  right: { name: 'deal.task.complete', description: 'Complete tasks', own: 'Complete own tasks' },
  verb: 'complete-task',
  stateName: 'task-completed',
  words: { title: 'Complete', done: 'The task is completed.', pageTitle: 'Complete a task' },
  events: [taskCompleted],
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
    return [taskCompleted({ taskId, result: result ?? null })]
  },
})
