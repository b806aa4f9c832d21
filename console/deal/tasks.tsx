/** The tasks of a deal, the open ones first, with what the reader can do with each; and the form for a new one. */

import { widthOf } from '../../deal-server/domain/own-deals.ts'
import { isSameUser } from '../../deal-server/use-cases/assignable-users.ts'
import type { Command } from '../../deal-server/use-cases/define-use-case.ts'
import { commands } from '../../deal-server/use-cases/index.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import { isOnTask } from '../deal-forms/command-form.tsx'
import { type DealView, pathOfCommand, type TaskView } from '../deal-forms/deal-view.ts'
import { type Column, Table } from '../frame/content.tsx'
import type { Reader } from '../frame/reader.ts'
import { pathOfDeal } from '../parts/deal-parts.tsx'
import { dealTexts as texts } from '../texts/deal.ts'
import { InlineCommand } from './commands.tsx'

interface TasksProps {
  readonly deal: DealView
  readonly reader: Reader
  readonly caller: Caller
  readonly ids: IdSource
  /** The page of the list in the address, from 1. */
  readonly page: string | null
}

/** Tasks on one page. */
const pageSize = 15

/** The panel of the tasks. */
export function Tasks({ deal, reader, caller, ids, page }: TasksProps) {
  const open = deal.tasks.filter(({ status }) => status === 'open')
  const all = [...open, ...deal.tasks.filter(({ status }) => status !== 'open')]
  const pages = Math.max(1, Math.ceil(all.length / pageSize))
  const shown = Math.min(pages, Math.max(1, Number(page) || 1))
  const rows = all.slice((shown - 1) * pageSize, shown * pageSize)
  const addTask = commands.find(({ makes }) => makes === 'taskId')
  return (
    <section class="panel" aria-labelledby="tasks">
      <div class="head">
        <h2 id="tasks">Tasks</h2>
        {all.length > 0 && (
          <span class="hint">
            {reader.number(open.length)} open of {reader.number(all.length)}
          </span>
        )}
      </div>
      <Table
        caption="Tasks"
        columns={columnsFor({ deal, reader, caller })}
        rows={rows}
        empty="This deal has no tasks."
      />
      <TaskPages deal={deal} pages={pages} shown={shown} />
      {addTask && deal.allowed?.includes(addTask.name) && <InlineCommand command={addTask} deal={deal} ids={ids} />}
    </section>
  )
}

interface PagesProps {
  readonly deal: DealView
  readonly pages: number
  readonly shown: number
}

function TaskPages({ deal, pages, shown }: PagesProps) {
  if (pages === 1) return null
  return (
    <nav class="pager" aria-label="Pages of tasks">
      {Array.from({ length: pages }, (_, index) => index + 1).map((number) => (
        <a href={`${pathOfDeal(deal.id)}?tasks=${number}#tasks`} aria-current={number === shown ? 'page' : undefined}>
          Page {number}
        </a>
      ))}
    </nav>
  )
}

function columnsFor({ deal, reader, caller }: Pick<TasksProps, 'deal' | 'reader' | 'caller'>): Column<TaskView>[] {
  const actions = commands.filter((command) => isOnTask(command) && deal.allowed?.includes(command.name))
  const columns: Column<TaskView>[] = [
    {
      title: 'Task',
      cell: ({ title, result }) => (
        <div>
          {title}
          {result && <span class="hint lines under">{`Result: ${result}`}</span>}
        </div>
      ),
    },
    { title: 'Assignee', cell: ({ assigneeId }) => assigneeId ?? <span class="hint">nobody</span> },
    {
      title: 'Due',
      isShort: true,
      cell: ({ dueDate }) => (dueDate === null ? '–' : reader.date(dueDate)),
    },
    {
      title: 'State',
      cell: ({ status }) => <span class={`badge task-${status}`}>{texts.taskStatuses[status]}</span>,
    },
  ]
  if (actions.length === 0 || !deal.tasks.some(({ status }) => status === 'open')) return columns
  const cell = (task: TaskView) => (
    <TaskActions dealId={deal.id} task={task} actions={actionsOn({ task, ownerId: deal.ownerId }, actions, caller)} />
  )
  return [...columns, { title: 'Actions', cell }]
}

/** The commands that the caller can run on this task. */
function actionsOn(
  { task, ownerId }: { readonly task: TaskView; readonly ownerId: string },
  actions: readonly Command[],
  caller: Caller,
): readonly Command[] {
  if (task.status !== 'open') return []
  return actions.filter(({ name, right, ownNeedsNoRight }) => {
    if (name === 'UnassignTask' && task.assigneeId === null) return false
    const width = widthOf(caller.rights, right)
    if (ownNeedsNoRight) return width === 'all' || isSameUser(task.assigneeId, caller.username)
    return width === 'all' || (width === 'own' && isSameUser(ownerId, caller.username))
  })
}

interface ActionsProps {
  readonly dealId: string
  readonly task: TaskView
  readonly actions: readonly Command[]
}

function TaskActions({ dealId, task, actions }: ActionsProps) {
  return (
    <span class="actions">
      {actions.map((command) => (
        <a href={`${pathOfCommand(dealId, command.verb)}?${new URLSearchParams({ taskId: task.id })}`}>
          {command.words.title}
          <span class="unseen">{` ${shortened(task.title)}`}</span>
        </a>
      ))}
    </span>
  )
}

/** Enough of a title to tell links apart. */
const shortened = (title: string): string => ([...title].length > 60 ? `${[...title].slice(0, 60).join('')}…` : title)
