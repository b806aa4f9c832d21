/** Lists over the deal server's tables, through Drizzle: none of them stands in the way of a write. */
import { and, asc, desc, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../shared/database/database.ts'
import type { Deal } from '../domain/deal.ts'
import type { AssignedTask, CommandRecord, DealFilter, StoredEvent } from '../domain/repository.ts'
import { type CommandRow, commandOfRow, type DealRow, dealOfRow } from './rows.ts'
import { commands, deals, events, tasks } from './schema.ts'

/** Deals that are not deleted, newest first, without their tasks. */
export async function listDeals({ drizzle }: Database, { status, held, limit }: DealFilter): Promise<Deal[]> {
  const conditions: SQL[] = [isNull(deals.deletedAt)]
  if (status !== undefined) conditions.push(eq(deals.status, status))
  if (held !== undefined) conditions.push(eq(deals.held, held))
  const rows = await drizzle
    .select({ deal: sql<DealRow>`to_json(deals)` })
    .from(deals)
    .where(and(...conditions))
    .orderBy(desc(deals.createdAt), desc(deals.id))
    .limit(limit)
  return rows.map(({ deal }) => dealOfRow(deal))
}

/** The named commands of a deal, oldest first. */
export async function listCommands({ drizzle }: Database, dealId: string, limit: number): Promise<CommandRecord[]> {
  const rows = await drizzle
    .select({ command: sql<CommandRow>`to_json(commands)` })
    .from(commands)
    .where(eq(commands.dealId, dealId))
    .orderBy(asc(commands.requestedAt), asc(commands.commandId))
    .limit(limit)
  return rows.map(({ command }) => commandOfRow(command))
}

/** What happened to a deal, oldest first. */
export async function readHistory({ drizzle }: Database, dealId: string, limit: number): Promise<StoredEvent[]> {
  const rows = await drizzle
    .select()
    .from(events)
    .where(eq(events.dealId, dealId))
    .orderBy(asc(events.sequence))
    .limit(limit)
  return rows.map(({ data, occurredAt, ...row }) => ({
    ...row,
    data: data as Record<string, unknown>,
    occurredAt: new Date(occurredAt).toISOString(),
  }))
}

/** The open tasks of a user on deals that are not deleted. */
export async function listAssignedTasks(
  { drizzle }: Database,
  employeeId: string,
  limit: number,
): Promise<AssignedTask[]> {
  const rows = await drizzle
    .select({
      taskId: tasks.id,
      title: tasks.title,
      dueDate: tasks.dueDate,
      dealId: deals.id,
      dealName: deals.name,
      dealHeld: deals.held,
      assignedAt: tasks.assignedAt,
    })
    .from(tasks)
    .innerJoin(deals, and(eq(deals.id, tasks.dealId), isNull(deals.deletedAt)))
    .where(and(eq(sql`lower(${tasks.assigneeId} collate "C")`, employeeId.toLowerCase()), eq(tasks.status, 'open')))
    .orderBy(sql`${tasks.dueDate} asc nulls last`, asc(tasks.id))
    .limit(limit)
  return rows.map((row) => ({ ...row, assignedAt: new Date(row.assignedAt ?? 0).toISOString() }))
}
