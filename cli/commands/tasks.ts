/** `keyhold tasks` (docs/contract/operators.md#command-line). */
import type { Command } from 'commander'
import { type DealComponents, isProblem, type Keyhold } from '../../client/src/index.ts'
import type { Report } from '../../shared/platform/terminal/report.ts'
import { columns } from '../../shared/platform/terminal/tables.ts'
import type { CallerPorts } from '../context/ports.ts'

type Task = DealComponents['schemas']['AssignedTask']

/** Adds the command to the program. */
export function addTasks(program: Command, { connect, loginFile, report }: CallerPorts): void {
  program
    .command('tasks')
    .description('open tasks of yours, or of another user')
    .argument('[username]', 'whose; your own when left out')
    .action(
      report(async (user: string | undefined): Promise<Report> => {
        const keyhold = await connect()
        const username = user ?? (await loginFile().read())?.username ?? ''
        const tasks = await tasksOf(keyhold, username)
        const text = tasks.length === 0 ? `${username} has no open tasks.` : columns(titles, tasks.map(rowOf))
        return { json: tasks, text }
      }),
    )
}

async function tasksOf(keyhold: Keyhold, username: string): Promise<Task[]> {
  const tasks: Task[] = []
  try {
    const params = { path: { username }, query: { limit: 200 } }
    for await (const task of keyhold.deals.items('/query/AssignedTask/{username}', { params })) tasks.push(task)
  } catch (error) {
    // A query that finds nothing is 404.
    if (!isProblem(error, 'not-found')) throw error
  }
  return tasks
}

const titles = ['TASK', 'TITLE', 'DUE', 'DEAL', 'NAME OF DEAL']

const rowOf = ({ taskId, title, dueDate, dealId, dealName, dealHeld }: Task): string[] => [
  taskId,
  title,
  dueDate ?? '-',
  dealId,
  dealHeld ? `${dealName} (held)` : dealName,
]
