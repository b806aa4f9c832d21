/** Lists of commands, events and tasks, by Drizzle. They block no writes. */
import { and, eq, gte, isNull, or, type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../shared/platform/database/database.ts'
import { statementOf } from '../../shared/platform/database/statement.ts'
import { type History, historySql, requirePrimary } from '../../shared/platform/history/history.ts'
import { timeOfId } from '../../shared/platform/ids.ts'
import type { Page, PageRequest, Position } from '../../shared/platform/pagination.ts'
import type { CommandRecord } from '../commands/ports.ts'
import type { UserIdentity } from '../domain/own-deals.ts'
import type { StoredEvent } from '../events/event-log.ts'
import type { AssignedTask, Assignee, DealReader } from '../queries/ports.ts'
import { e } from './aliases.ts'
import { isOwnedBy } from './deal-conditions.ts'
import { type EventRow, eventOfRow } from './event-log.ts'
import { positionOfEvent } from './event-statements.ts'
import { bucketOf } from './events/bucket.ts'
import { type Keyset, orderOf, rangesOf, readRanges } from './keyset.ts'
import { historyColumn, readMarkedPage } from './marked-pages.ts'
import { type CommandRow, commandOfRow } from './rows.ts'
import { commands, deals, events, tasks } from './schema.ts'

const commandOrder: Keyset = {
  key: { expression: sql`${commands.requestedAt}`, type: 'timestamptz' },
  nullable: false,
  ties: [
    { expression: sql`${commands.commandId}`, type: 'text' },
    { expression: sql`${commands.principalId}`, type: 'text' },
  ],
  descending: false,
}

/** The commands of a deal that have an id, oldest first; none unless `owner` owns the deal. */
export function listCommands(
  database: Database,
  dealId: string,
  page: PageRequest,
  owner?: UserIdentity,
): Promise<Page<CommandRecord>> {
  const isVisible = owner && ownsDeal(owner, dealId)
  const read = async (after: Position | undefined) => {
    const [range] = rangesOf(commandOrder, after)
    return database.drizzle
      .select({ command: sql<CommandRow>`to_json(commands)`, history: historyColumn() })
      .from(commands)
      .where(and(eq(commands.dealId, dealId), range?.condition, isVisible))
      .orderBy(orderOf(commandOrder))
      .limit(page.limit + 1)
  }
  return readMarkedPage(database, page, {
    read,
    item: ({ command }) => commandOfRow(command),
    position: ({ command }) => [command.requested_at, command.command_id, command.principal_id],
  })
}

/** True when the user owns the deal. */
const ownsDeal = (owner: UserIdentity, dealId: string): SQL =>
  sql`exists (select 1 from ${deals} where ${deals.id} = ${dealId}::text::uuid
    and ${deals.bucket} = ${bucketOf(dealId)}::text::smallint and ${isOwnedBy(owner, deals)})`

/** A deal, the events of it, and the user who must own it. */
type HistoryRead = Parameters<DealReader['history']>

/** The events of a deal that have a higher sequence. */
const historyStatement = ([dealId, { limit, after }, owner]: HistoryRead): SQL => sql`
  with stored as materialized (
    select * from ${events} ${e}
    where ${e.dealId} = ${dealId}::text::uuid and ${e.bucket} = ${bucketOf(dealId)}::text::smallint
      and ${e.sequence} > ${String(after?.[0] ?? 0)}::text::int and ${owner ? ownsDeal(owner, dealId) : sql`true`}
    order by ${e.sequence} limit ${limit + 1}::text::int
  )
  select to_json(p) as event, (select ${sql.raw(historySql)}) as history
  from (select ${positionOfEvent} as position, e.* from stored e) p order by p.sequence`

/**
 * The events of a deal, oldest first; none unless `owner` owns the deal. `slice` gives positions to those that have
 * none. @throws Unavailable while that cannot be done
 */
export function readHistory(
  database: Database,
  [dealId, page, owner]: HistoryRead,
  slice: () => Promise<unknown>,
): Promise<Page<StoredEvent>> {
  type Row = { readonly event: EventRow & { readonly position: number | null }; readonly history: History | null }
  const select = (after: Position | undefined) => {
    const statement = historyStatement([dealId, { ...page, after }, owner])
    return database.query<Row>(...statementOf(statement))
  }
  const read = async (after: Position | undefined) => {
    const rows = await select(after)
    if (rows.every(({ event }) => event.position !== null)) return rows
    await slice()
    // Those that are committed from then on come behind.
    return (await select(after)).filter(({ event }) => event.position !== null)
  }
  return readMarkedPage(database, page, {
    read,
    item: ({ event, history }) => eventOfRow(event, requirePrimary(history)),
    position: ({ event }) => [event.sequence],
  })
}

const taskOrder = ({ dueDate, id, dealId }: { dueDate: SQL; id: SQL; dealId: SQL }): Keyset => ({
  key: { expression: dueDate, type: 'date' },
  nullable: true,
  ties: [
    { expression: id, type: 'uuid' },
    { expression: dealId, type: 'uuid' },
  ],
  descending: false,
})

/**
 * Limits tasks of a name to the user who has it now. A task without a user id belongs to the user who had the name when
 * it was assigned.
 */
function belongsTo({ userId }: Assignee): SQL | undefined {
  if (userId === undefined) return undefined
  const madeAt = timeOfId(userId)
  const hadName = Number.isNaN(madeAt) ? sql`false` : gte(tasks.assignedAt, new Date(madeAt).toISOString())
  return or(eq(tasks.assigneeUserId, userId), and(isNull(tasks.assigneeUserId), hadName))
}

/** A user, the page of tasks, and the user who must own their deals. */
type TaskRead = Parameters<DealReader['assignedTasks']>

/** The open tasks of a user on deals that are not deleted: the most urgent first, tasks without a date last. */
export function listAssignedTasks(database: Database, [assignee, page, owner]: TaskRead): Promise<Page<AssignedTask>> {
  return readMarkedPage(database, page, {
    read: (after) => readAssignedTasks(database, [assignee, { ...page, after }, owner]),
    item: ({ task }) => ({ ...task, assignedAt: new Date(task.assignedAt ?? 0).toISOString() }),
    position: ({ task }) => [task.dueDate, task.taskId, task.dealId],
  })
}

/**
 * Each task has its deal. The join is a left one all the same: PostgreSQL multiplies the chances that id and bucket
 * fit, and takes the result of an inner join for nearly empty. It then sorts all tasks of the user instead of reading
 * the first ones from the index.
 */
async function readAssignedTasks(database: Database, [assignee, { limit, after }, owner]: TaskRead) {
  const assigned = and(
    eq(sql`lower(${tasks.assigneeId} collate "C")`, assignee.username.toLowerCase()),
    belongsTo(assignee),
    eq(tasks.status, 'open'),
    isNull(deals.deletedAt),
    owner && isOwnedBy(owner, deals),
  )
  const inTable = taskOrder({ dueDate: sql`${tasks.dueDate}`, id: sql`${tasks.id}`, dealId: sql`${tasks.dealId}` })
  const listed = readRanges(rangesOf(inTable, after), {
    limit,
    select: sql`select json_build_object('taskId', ${tasks.id}, 'title', ${tasks.title}, 'dueDate', ${tasks.dueDate},
        'dealId', ${deals.id}, 'dealName', ${deals.name}, 'dealHeld', ${deals.held},
        'assignedAt', ${tasks.assignedAt}) as task,
      ${tasks.dueDate} as due_date, ${tasks.id} as id, ${tasks.dealId} as deal_id
      from ${tasks} left join ${deals} on ${deals.id} = ${tasks.dealId} and ${deals.bucket} = ${tasks.bucket}`,
    conditions: [assigned],
  })
  const inList = taskOrder({ dueDate: sql`listed.due_date`, id: sql`listed.id`, dealId: sql`listed.deal_id` })
  return database.drizzle
    .select({ task: sql<AssignedTask>`listed.task`, history: historyColumn() })
    .from(sql`${listed} listed`)
    .orderBy(orderOf(inList))
    .limit(limit + 1)
}
