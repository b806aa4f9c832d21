/**
 * An index for searches by a part of a text (`ilike '%part%'`), by the extension pg_trgm. It is made in the background
 * after the start and not by a migration: a role may lack the right to create the extension, and to index a large table
 * takes minutes, in which it is written on. Without the index the same searches read more rows.
 */
import { sql } from 'drizzle-orm'
import type { Log } from '../log/log.ts'
import { Unavailable } from '../problems/errors.ts'
import { type Database, DatabaseError, type Drizzle, type RunAlone } from './database.ts'

/** Which texts are indexed. */
export interface TrigramIndex {
  readonly schema: string
  readonly table: string
  /** The name of the index. */
  readonly name: string
  readonly columns: readonly string[]
  /** The rows that are indexed, in SQL. */
  readonly where: string
}

/** What has become of the index: `busy` when another session makes it right now. */
export type TrigramIndexState = 'there' | 'made' | 'busy'

interface IndexRow {
  readonly valid: boolean
  readonly building: boolean
}

type IndexDatabase = Pick<Database, 'query' | 'exclusivelyIfFree' | 'concurrentSessions'>

const stateSql = `select i.indisvalid as valid,
    exists (select from pg_stat_progress_create_index p where p.index_relid = i.indexrelid) as building
  from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1 and c.relname = $2`

/**
 * Makes the index unless it is there. An index that an interrupted process left unfinished is made anew.
 *
 * @throws DatabaseError when PostgreSQL does not let the role make it, or does not have the extension; Unavailable
 */
export async function ensureTrigramIndex(database: IndexDatabase, index: TrigramIndex): Promise<TrigramIndexState> {
  let state: TrigramIndexState | 'missing' = await stateOf(database, index)
  if (state !== 'missing') return state
  state = 'busy'
  await database.exclusivelyIfFree(`index ${index.schema}.${index.name}`, async (drizzle, runAlone) => {
    const found = await stateOf(database, index)
    if (found === 'missing') await makeIndex({ drizzle, runAlone }, index, database.concurrentSessions)
    state = found === 'missing' ? 'made' : found
  })
  return state
}

/** An index that is there but not valid counts as missing, unless a session makes it now. */
async function stateOf(database: IndexDatabase, { schema, name }: TrigramIndex) {
  const [found] = await database.query<IndexRow>(stateSql, [schema, name])
  if (found?.valid) return 'there'
  return found?.building ? 'busy' : 'missing'
}

interface Sessions {
  readonly drizzle: Drizzle
  readonly runAlone: RunAlone
}

/** On an engine with a single session nobody writes meanwhile, and `concurrently` would wait for nobody. */
async function makeIndex({ drizzle, runAlone }: Sessions, index: TrigramIndex, isShared: boolean): Promise<void> {
  const { schema, table, name, columns, where } = index
  const concurrently = isShared ? 'concurrently' : ''
  await runAlone(`create extension if not exists pg_trgm with schema ${schema}`)
  const [extension] = await drizzle
    .select({ schema: sql<string>`nspname`.as('schema') })
    .from(sql`pg_namespace join pg_extension on extnamespace = pg_namespace.oid`)
    .where(sql`extname = 'pg_trgm'`)
  const class_ = `"${extension?.schema}".gin_trgm_ops`
  await runAlone(`drop index ${concurrently} if exists ${schema}.${name}`)
  const parts = columns.map((column) => `${column} ${class_}`).join(', ')
  await runAlone(`create index ${concurrently} ${name} on ${schema}.${table} using gin (${parts}) where ${where}`)
}

/** What the making of an index in the background needs. */
export interface TrigramIndexPorts {
  readonly database: IndexDatabase
  readonly log: Pick<Log, 'info' | 'warn'>
  /** How long to wait before the next attempt, while another session makes the index or the database is away. */
  readonly retryMs?: number
  /** How long after the start the first attempt begins: a new server has other work for its connections. */
  readonly firstAfterMs?: number
}

/** Makes an index in the background. It never rejects. */
export interface BackgroundIndex {
  start(): void
  /** Makes no further attempt. A running one goes on in PostgreSQL, also when this process ends. */
  stop(): void
  /** Makes one attempt. True when there is nothing more to do. */
  attempt(): Promise<boolean>
}

/** Makes `index` after the start, in one of all processes of this database. */
export function createBackgroundIndex(
  { database, log, retryMs = 60_000, firstAfterMs = 20_000 }: TrigramIndexPorts,
  index: TrigramIndex,
): BackgroundIndex {
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  const attempt = async (): Promise<boolean> => {
    try {
      const state = await ensureTrigramIndex(database, index)
      if (state === 'made' && database.concurrentSessions)
        log.info({ index: index.name }, 'Made the index for searches')
      return state !== 'busy'
    } catch (err) {
      if (isStopped || err instanceof Unavailable) return isStopped
      const reason = err instanceof DatabaseError ? err.message : 'unknown'
      log.warn({ index: index.name, reason }, 'Searches read all rows: the index for them cannot be made')
      return true
    }
  }
  const run = async () => {
    const isDone = await attempt()
    if (!isDone && !isStopped) timer = setTimeout(() => void run(), retryMs).unref()
  }
  return {
    start: () => {
      isStopped = false
      timer = setTimeout(() => void run(), firstAfterMs).unref()
    },
    stop: () => {
      isStopped = true
      clearTimeout(timer)
    },
    attempt,
  }
}
