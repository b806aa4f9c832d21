import { asc, eq, sql } from 'drizzle-orm'
import { validate as isUuid } from 'uuid'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { type Page, type PageRequest, pageOfRows } from '../../shared/platform/pagination.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { clients } from '../store/client-tables.ts'
import type { Client } from './client.ts'

/** A row of `auth.clients`. */
export type ClientRow = typeof clients.$inferSelect

/** The error for a client that does not exist. */
export const noSuchClient = () => new ProblemError('not-found', 'There is no such client.')

/** A row as administrators see it. */
export const toClient = ({ secretSealed: _, formerSecretSealed: _former, ...row }: ClientRow): Client => ({
  ...row,
  createdAt: row.createdAt.getTime(),
  updatedAt: row.updatedAt.getTime(),
  formerUntil: row.formerUntil?.getTime() ?? null,
  lastUsedAt: row.lastUsedAt?.getTime() ?? null,
})

/** Lists the clients, the oldest first. @throws Unavailable */
export async function listClients(drizzle: Drizzle, { after, limit }: PageRequest): Promise<Page<Client>> {
  const behind =
    after && sql`(${clients.createdAt}, ${clients.id}) > (${String(after[0])}::timestamptz, ${String(after[1])}::uuid)`
  const rows = await drizzle
    .select()
    .from(clients)
    .where(behind)
    .orderBy(asc(clients.createdAt), asc(clients.id))
    .limit(limit + 1)
  return pageOfRows(rows, limit, { item: toClient, position: (row) => [row.createdAt.toISOString(), row.id] })
}

/** Reads the row of a client. @throws ProblemError `not-found`; Unavailable */
export async function clientRow(drizzle: Drizzle, id: string): Promise<ClientRow> {
  const [row] = isUuid(id) ? await drizzle.select().from(clients).where(eq(clients.id, id)) : []
  if (!row) throw noSuchClient()
  return row
}
