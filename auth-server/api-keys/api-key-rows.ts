import { and, asc, between, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { isId } from '../../shared/platform/ids.ts'
import { type Page, type PageRequest, pageOfRows } from '../../shared/platform/pagination.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { foldUsername } from '../../shared/protocol/principal/record.ts'
import { demandSql } from '../principals/demand-sql.ts'
import { u } from '../store/aliases.ts'
import { apiKeys, users } from '../store/schema.ts'
import { type ApiKey, expiresSoonMs } from './api-key.ts'

/** The error for a key that does not exist or belongs to another user. */
export const noSuchApiKey = () => new ProblemError('not-found', 'There is no such API key.')

/** The columns of a key without former material. */
export const noFormer = { formerSecretSealed: null, formerPublicKeyPem: null, formerUntil: null }

/** The owner of the keys; without `username`, keys of all users. */
export interface OfOwner {
  readonly username?: string | undefined
}

/** SQL condition on a row of auth.api_keys: it is refused, because its owner has or needs a second factor. */
const isSuspended = sql<boolean>`(not ${apiKeys.confirmed} and exists (
  select 1 from ${users} ${u} where ${u.id} = ${apiKeys.userId} and ${demandSql}))`

const shown = { key: apiKeys, username: users.username, isSuspended }

interface ShownRow {
  readonly key: typeof apiKeys.$inferSelect
  readonly username: string
  readonly isSuspended: boolean
}

const toApiKey = ({ key, username, isSuspended }: ShownRow): ApiKey => ({
  id: key.id,
  kind: key.kind,
  username,
  name: key.name,
  requireBodyHash: key.requireBodyHash,
  rights: key.rights,
  publicKeyPem: key.publicKeyPem,
  createdAt: key.createdAt.getTime(),
  expiresAt: key.expiresAt?.getTime() ?? null,
  formerUntil: key.formerUntil?.getTime() ?? null,
  lastUsedAt: key.lastUsedAt?.getTime() ?? null,
  isSuspended,
})

const ofOwner = ({ username }: OfOwner): SQL | undefined =>
  username === undefined ? undefined : eq(users.usernameFolded, foldUsername(username))

/** Lists the keys that are not revoked, the oldest first. */
export async function listApiKeys(source: Drizzle, page: PageRequest & OfOwner): Promise<Page<ApiKey>> {
  const { after, limit } = page
  const behind =
    after && sql`(${apiKeys.createdAt}, ${apiKeys.id}) > (${String(after[0])}::timestamptz, ${String(after[1])}::uuid)`
  const rows = await source
    .select(shown)
    .from(apiKeys)
    .innerJoin(users, eq(users.id, apiKeys.userId))
    .where(and(isNull(apiKeys.revokedAt), ofOwner(page), behind))
    .orderBy(asc(apiKeys.createdAt), asc(apiKeys.id))
    .limit(limit + 1)
  return pageOfRows(rows, limit, { item: toApiKey, position: ({ key }) => [key.createdAt.toISOString(), key.id] })
}

/** Counts the keys that expire soon after `now` (milliseconds) and were not revoked. */
export async function countExpiringSoon(source: Drizzle, now: number): Promise<number> {
  const isSoon = between(apiKeys.expiresAt, new Date(now), new Date(now + expiresSoonMs))
  return source.$count(apiKeys, and(isNull(apiKeys.revokedAt), isSoon))
}

/** Reads a key that is not revoked. @throws ProblemError `not-found` */
export async function readApiKey(source: Drizzle, id: string, owner: OfOwner): Promise<ApiKey> {
  if (!isId(id)) throw noSuchApiKey()
  const [row] = await source
    .select(shown)
    .from(apiKeys)
    .innerJoin(users, eq(users.id, apiKeys.userId))
    .where(and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt), ofOwner(owner)))
  if (!row) throw noSuchApiKey()
  return toApiKey(row)
}
