/**
 * Used counts (`nc`) of nonces (RFC 7616 §3.4, §5.12). Each count is good once, even if the cache is not available or
 * has lost its data.
 *
 * The first use of a nonce creates a row in the server's own database. From then on, the counts are in the cache, or in
 * that row if the cache was not available at that time. A row whose counts are in the cache never takes counts itself:
 * when the cache has lost them, the nonce is stale. A row is made and used only in the history of the nonce: a standby
 * that was promoted may lack the row, and counts that were used would be good again. Auth servers and deal servers
 * count separately, since no request is valid at both.
 */
import { sql } from 'drizzle-orm'
import { alias, pgSchema } from 'drizzle-orm/pg-core'
import { type Cache, cacheKey } from '../../../platform/cache/cache.ts'
import { windowWidth } from '../../../platform/cache/number-window.ts'
import { rfc3339 } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { namesOf, parameters } from '../../../platform/database/statement.ts'
import {
  type History,
  historySql,
  type KnownHistory,
  markSql,
  requirePrimary,
} from '../../../platform/history/history.ts'
import { Unavailable } from '../../../platform/problems/errors.ts'
import { digestCountsTable } from '../credential-tables.ts'
import { type DigestNonce, markDigits, nonceMark } from './digest-nonce.ts'

/** The result of a use. `stale`: it is no longer known whether the count was used. */
export type CountVerdict = 'used' | 'refused' | 'stale'

/** The counts of the nonces of one kind of server. */
export interface DigestCounts {
  /** Uses a count. @throws Unavailable when it is unknown whether the count was used */
  use(nonce: DigestNonce, count: number): Promise<CountVerdict>
}

interface DigestCountsOptions {
  readonly cache: Pick<Cache, 'useNumber' | 'startNumbers'>
  readonly database: Pick<Database, 'query' | 'write'>
  /** The PostgreSQL schema of `digest_counts`. */
  readonly schema: 'auth' | 'deals'
  readonly history: Pick<KnownHistory, 'observe'>
}

type CountsTable = ReturnType<typeof digestCountsTable>

/**
 * How much longer than its lifetime a nonce is remembered, in milliseconds. It is far more than the clock tolerance: a
 * count that a server forgets too early could be used twice.
 */
export const rememberedMs = 600_000

const use = parameters({ nonce: 'text', count: 'int', used: 'bigint', expiresAt: 'timestamptz', mark: 'text' })
/** `used = 0` means that the counts are in the cache. The parameter `used` is that of a new row. */
const useSql = (counts: CountsTable) => {
  const c = alias(counts, 'c')
  const width = sql.raw(String(windowWidth))
  return use.statement(sql`insert into ${counts} as ${c} (${namesOf(counts, 'nonce', 'highest', 'used', 'expiresAt')})
  select ${use.nonce}, ${use.count}, ${use.used}, ${use.expiresAt}
  where left(${sql.raw(markSql)}, ${sql.raw(String(markDigits))}) = ${use.mark}
    and (${use.count} <= ${width} or exists (select 1 from ${counts} where ${counts.nonce} = ${use.nonce}))
  on conflict (${namesOf(counts, 'nonce')}) do update set (${namesOf(counts, 'highest', 'used')}) = (
    greatest(${c.highest}, ${use.count}),
    case when ${use.count} - ${c.highest} >= ${width} then 1
      when ${use.count} > ${c.highest} then (${c.used} << (${use.count} - ${c.highest})) | 1
      else ${c.used} | (1::bigint << (${c.highest} - ${use.count})) end)
  where ${c.used} <> 0 and ${use.count} - ${c.highest} > -${width}
    and (${use.count} > ${c.highest} or (${c.used} >> (${c.highest} - ${use.count})) & 1 = 0)
  returning case when xmax = 0 then 'new' else 'used' end as outcome`)
}

const look = parameters({ nonce: 'text' })
const lookSql = (counts: CountsTable) =>
  look.statement(sql`select ${sql.raw(historySql)} as history,
  (select (${counts.used} = 0)::text from ${counts} where ${counts.nonce} = ${look.nonce}) as "inCache"`)

interface Looked {
  /** Null on a standby. */
  readonly history: History | null
  /** Null without a row. */
  readonly inCache: string | null
}

/** Counts in the cache, with the database behind it. */
export function createDigestCounts({ cache, database, schema, history }: DigestCountsOptions): DigestCounts {
  const table = digestCountsTable(pgSchema(schema))
  const [useOf, lookAt] = [useSql(table), lookSql(table)]
  const useCached = async (key: string, number: number, ttlSeconds: number) => {
    try {
      return await cache.useNumber(key, { number, ttlSeconds })
    } catch (error) {
      if (error instanceof Unavailable) return 'unavailable'
      throw error
    }
  }
  const start = async (key: string, number: number, ttlSeconds: number) => {
    try {
      await cache.startNumbers(key, { number, ttlSeconds })
    } catch (error) {
      // The next use will find the nonce stale.
      if (!(error instanceof Unavailable)) throw error
    }
  }
  return {
    use: async ({ text, expiresAt, issuedAt, mark }, count) => {
      // More than the column holds, and more than any client can send during the lifetime of a nonce.
      if (count > 0x7fff_ffff) return 'stale'
      const key = cacheKey(`digest:${schema}:${text}`)
      const ttlSeconds = (expiresAt - issuedAt + rememberedMs) / 1000
      const cached = await useCached(key, count, ttlSeconds)
      if (cached === 'used' || cached === 'refused') return cached
      const useIt = useOf({
        nonce: text,
        count,
        used: cached === 'unknown' ? 0 : 1,
        expiresAt: rfc3339(expiresAt + rememberedMs),
        mark,
      })
      const [row] = await database.write<{ outcome: string }>(...useIt)
      if (row?.outcome === 'new' && cached === 'unknown') await start(key, count, ttlSeconds)
      if (row) return 'used'
      const [known] = await database.query<Looked>(...lookAt({ nonce: text }))
      const present = requirePrimary(known?.history)
      history.observe(present)
      if (nonceMark(present) !== mark) return 'stale'
      if (known?.inCache === 'false') return 'refused'
      if (known?.inCache == null || cached === 'unavailable') return 'stale'
      // The first use may have written its count to the cache by now.
      const again = await useCached(key, count, ttlSeconds)
      return again === 'used' || again === 'refused' ? again : 'stale'
    },
  }
}
