/** Converts rows in PostgreSQL's JSON form to domain objects and back. Column names are those of `schema.ts`. */
import { getTableColumns } from 'drizzle-orm'
import type { JsonRow } from '../../shared/platform/database/statement.ts'
import type { CommandRecord, DealCommit } from '../commands/ports.ts'
import type { Deal } from '../domain/deal.ts'
import { fieldKinds } from '../domain/deal-fields.ts'
import type { Task } from '../domain/task.ts'
import { bucketOf, bucketOfPrincipal } from './events/bucket.ts'
import { type commands, deals, type events, type tasks } from './schema.ts'

/** A row of `deals.deals`. */
export type DealRow = JsonRow<typeof deals>

/** A row of `deals.tasks`. */
export type TaskRow = JsonRow<typeof tasks>

/** A row of `deals.commands`. */
export type CommandRow = JsonRow<typeof commands>

/**
 * RFC 3339 in UTC with milliseconds, from a time in PostgreSQL's ISO form. PostgreSQL leaves out zeros at the end of
 * the fraction, and its sessions are in UTC. Cheaper than a `Date`, of which each deal would need several.
 */
export function rfc3339OfRow(text: string): string {
  if (!text.endsWith('+00:00')) return new Date(text).toISOString()
  const local = text.slice(0, -'+00:00'.length)
  const withFraction = local.includes('.') ? local : `${local}.`
  return `${withFraction.padEnd('2026-01-01T00:00:00.000'.length, '0')}Z`
}
const timeOrNull = (text: string | null): string | null => (text === null ? null : rfc3339OfRow(text))

const columns = getTableColumns(deals)
const cells = fieldKinds.map(([name, kind]) => ({ name, column: columns[name].name, isTime: kind === 'time' }))

/**
 * Copied and filled: copies of what `JSON.parse` makes are filled twice as fast as an object that gets its members one
 * by one, which the engine keeps as a hash table.
 */
const blank: Record<string, unknown> = JSON.parse(
  JSON.stringify(Object.fromEntries([...cells.map(({ name }) => [name, null]), ['tasks', null]])),
)

/** The deal of a row. Without rows of tasks, the deal has no tasks. */
export function dealOfRow(row: DealRow, tasks: readonly TaskRow[] | null = null): Deal {
  const values: Readonly<Record<string, unknown>> = row
  const deal = { ...blank }
  for (const { name, column, isTime } of cells) {
    const value = values[column]
    deal[name] = isTime ? timeOrNull(value as string | null) : value
  }
  deal.tasks = tasks?.map(taskOfRow) ?? []
  return deal as unknown as Deal
}

const taskOfRow = (row: TaskRow): Task => ({
  id: row.id,
  title: row.title,
  dueDate: row.due_date,
  assigneeId: row.assignee_id,
  assigneeUserId: row.assignee_user_id,
  status: row.status,
  result: row.result,
  createdAt: rfc3339OfRow(row.created_at),
  assignedAt: timeOrNull(row.assigned_at),
  doneAt: timeOrNull(row.done_at),
})

/** A commit with the bucket of its deal, which is a hash: it is made once. */
export interface PlacedCommit extends DealCommit {
  readonly bucket: number
}

/** The rows of the tasks that a commit writes. */
export const rowsOfTasks = ({ deal, tasks, bucket }: Pick<PlacedCommit, 'deal' | 'tasks' | 'bucket'>): TaskRow[] =>
  tasks.map((task) => ({
    deal_id: deal.id,
    id: task.id,
    ordinal: deal.tasks.indexOf(task) + 1,
    title: task.title,
    due_date: task.dueDate,
    assignee_id: task.assigneeId,
    assignee_user_id: task.assigneeUserId,
    status: task.status,
    result: task.result,
    created_at: task.createdAt,
    assigned_at: task.assignedAt,
    done_at: task.doneAt,
    bucket,
  }))

/** The columns of a deal that its members fill, with their names; amounts are in minor units. */
const { bucket, ...filled } = columns
const dealColumns = Object.entries(filled).map(([member, { name }]) => [name, member as keyof typeof filled] as const)

const memberOf = (deal: Deal, member: keyof typeof filled): unknown =>
  member === 'taskCount' ? deal.tasks.length : deal[member]

/** The columns of a deal that differ from `before`; all columns of a new deal. */
export function changedColumns(before: Deal | undefined, deal: Deal): Readonly<Record<string, unknown>> {
  const changed: Record<string, unknown> = before ? {} : { [bucket.name]: bucketOf(deal.id) }
  for (const [column, member] of dealColumns) {
    const value = memberOf(deal, member)
    if (!before || value !== memberOf(before, member)) changed[column] = value
  }
  return changed
}

/** The parameters of `deals.commit`. */
export const rowsOfCommits = (commits: readonly PlacedCommit[]) => ({
  bucket: commits[0]?.bucket ?? 0,
  deals: JSON.stringify(
    commits.map(({ before, deal, bucket }) => ({
      bucket,
      id: deal.id,
      expected_version: before?.version ?? null,
      changes: changedColumns(before, deal),
    })),
  ),
  events: JSON.stringify(commits.flatMap(rowsOfEvents)),
  commands: JSON.stringify(commits.flatMap(({ command }) => (command ? [rowOfCommand(command)] : []))),
  tasks: JSON.stringify(commits.flatMap(rowsOfTasks)),
})

/** The command of a row; times in RFC 3339, UTC. */
export const commandOfRow = (row: CommandRow): CommandRecord => ({
  key: { principalId: row.principal_id, commandId: row.command_id },
  dealId: row.deal_id,
  useCase: row.use_case,
  params: row.params,
  fingerprint: row.fingerprint,
  outcome: row.outcome ?? undefined,
  style: row.style,
  requestId: row.request_id,
  requestedBy: row.requested_by,
  requestedAt: rfc3339OfRow(row.requested_at),
  expiresAt: rfc3339OfRow(row.expires_at),
  signature: row.signature,
})

/** The row of a command, for insert. */
export const rowOfCommand = (command: CommandRecord): CommandRow => ({
  principal_id: command.key.principalId,
  command_id: command.key.commandId,
  deal_id: command.dealId,
  use_case: command.useCase,
  params: command.params,
  fingerprint: command.fingerprint,
  outcome: command.outcome ?? null,
  style: command.style,
  request_id: command.requestId,
  requested_by: command.requestedBy,
  requested_at: command.requestedAt,
  expires_at: command.expiresAt,
  signature: command.signature,
  bucket: bucketOfPrincipal(command.key.principalId),
})

/** A row of `deals.events` before it is written. */
interface NewEventRow extends Omit<JsonRow<typeof events>, 'number' | 'schema_version' | 'data'> {
  readonly data: DealCommit['events'][number]['event']['data']
}

/** The rows of `deals.events` that a commit writes; the database adds the number. */
export const rowsOfEvents = ({ deal, events, context, bucket }: PlacedCommit): NewEventRow[] =>
  events.map(({ id, sequence, useCase, event }) => ({
    id,
    deal_id: deal.id,
    sequence,
    deal_version: deal.version,
    type: event.type,
    data: event.data,
    currency: deal.currency,
    occurred_at: context.at,
    actor: context.actor,
    actor_user_id: context.actorUserId,
    client: context.client ?? null,
    use_case: useCase,
    style: context.style,
    command_id: context.key?.commandId ?? null,
    correlation_id: context.requestId,
    bucket,
  }))
