/** The reader's open tasks, the most urgent first. */
import type { Clock } from '../../shared/platform/clock.ts'
import { nextCursorOf } from '../frame/api.ts'
import { problemPage } from '../frame/console.tsx'
import { type Column, Pager, Table, Time } from '../frame/content.tsx'
import type { DealPage, DealReply } from '../frame/deal-api.ts'
import type { Reader } from '../frame/reader.ts'
import { Due, dayOf, pathOfDeal } from '../parts/deal-parts.tsx'

/** `/console/tasks`. With `username`, the tasks of another user, for readers with `task.read-any`. */
export const tasksPage = (clock: Clock): DealPage => ({
  methods: ['GET'],
  path: '/console/tasks',
  render: async ({ request, api, caller, reader }) => {
    const { query, path } = request
    const others = query.get('username')
    // The form of another user's tasks sends an empty field for one's own.
    if (others === '') return { redirect: path }
    const own = new URLSearchParams([...query].filter(([name]) => name !== 'username'))
    const reply = await api.call('GET /query/:dtoName/:parameter', {
      path: { dtoName: 'AssignedTask', parameter: others ?? caller.username },
      query: own,
    })
    // The route answers 404 for an empty list.
    if (!reply.ok && reply.status !== 404) return problemPage(reply.problem)
    const tasks = reply.ok ? reply.body : []
    const title = others === null ? 'My tasks' : `Tasks of ${others}`
    const columns = columnsFor(reader, dayOf(clock.now()))
    return {
      title,
      content: (
        <>
          <div class="head">
            <h1>{title}</h1>
            {caller.rights.has('task.read-any') && <UserForm username={others ?? ''} />}
          </div>
          <Table
            caption={title}
            columns={columns}
            rows={tasks}
            empty={others === null ? 'No open task is assigned to you.' : 'No open task is assigned to this user.'}
          />
          <Pager path={path} query={query} nextCursor={nextCursorOf(reply.headers)} />
        </>
      ),
    }
  },
})

const UserForm = ({ username }: { readonly username: string }) => (
  <form method="get" action="/console/tasks" class="inline">
    <label for="username">Tasks of the user</label>
    <input id="username" name="username" value={username} maxlength={64} autocapitalize="none" />
    <button type="submit" class="quiet">
      Show
    </button>
  </form>
)

const columnsFor = (reader: Reader, today: string): Column<DealReply<'GET /query/:dtoName/:parameter'>[number]>[] => [
  { title: 'Task', cell: ({ title }) => title },
  {
    title: 'Deal',
    cell: ({ dealId, dealName, dealHeld }) => (
      <>
        <a href={pathOfDeal(dealId)}>{dealName}</a> {dealHeld && <span class="badge held">held</span>}
      </>
    ),
  },
  {
    title: 'Due',
    isShort: true,
    cell: ({ dueDate }) => <Due date={dueDate} isLate today={today} reader={reader} />,
  },
  { title: 'Assigned', isShort: true, cell: ({ assignedAt }) => <Time time={assignedAt} reader={reader} /> },
]
