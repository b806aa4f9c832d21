import { and, asc, eq, sql } from 'drizzle-orm'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { isId } from '../../shared/platform/ids.ts'
import { type Page, type PageRequest, pageOfRows } from '../../shared/platform/pagination.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { services } from '../store/access-tables.ts'
import type { Service } from './service.ts'

/** The error for a service that does not exist. */
export const noSuchService = () => new ProblemError('not-found', 'There is no such service.')

/** A row as administrators see it. */
export const toService = (row: typeof services.$inferSelect): Service => ({
  id: row.id,
  name: row.name,
  resourceServer: row.resourceServer,
  createdAt: row.createdAt.getTime(),
  formerUntil: row.formerUntil?.getTime() ?? null,
  lastUsedAt: row.lastUsedAt?.getTime() ?? null,
})

/** Services of one resource server, or of all when it is left out. */
export interface OfResourceServer {
  readonly resourceServer?: string | undefined
}

/** Lists the services, the oldest first. @throws Unavailable */
export async function listServices(drizzle: Drizzle, page: PageRequest & OfResourceServer): Promise<Page<Service>> {
  const { after, limit, resourceServer } = page
  const behind =
    after &&
    sql`(${services.createdAt}, ${services.id}) > (${String(after[0])}::timestamptz, ${String(after[1])}::uuid)`
  const rows = await drizzle
    .select()
    .from(services)
    .where(and(resourceServer === undefined ? undefined : eq(services.resourceServer, resourceServer), behind))
    .orderBy(asc(services.createdAt), asc(services.id))
    .limit(limit + 1)
  return pageOfRows(rows, limit, { item: toService, position: (row) => [row.createdAt.toISOString(), row.id] })
}

/** Reads a service. @throws ProblemError `not-found`; Unavailable */
export async function readService(drizzle: Drizzle, id: string): Promise<Service> {
  const [row] = isId(id) ? await drizzle.select().from(services).where(eq(services.id, id)) : []
  if (!row) throw noSuchService()
  return toService(row)
}
