/**
 * Which counts (`nc`) of a nonce were used (RFC 7616 §3.4, §5.12): each is good once, whatever is away or was lost. The first use of a nonce
 * is a row in the server's own database; from then on its counts live in the cache, or in that row if the cache was away at that moment. A
 * row whose counts lived in the cache never takes any itself: when the cache has lost them, the nonce is stale. Each kind of server counts
 * for itself, since no request is good at both.
 */
import type { Cache } from '../../../platform/cache/cache.ts'
import { windowWidth } from '../../../platform/cache/number-window.ts'
import type { Database } from '../../../platform/database/database.ts'
import { Unavailable } from '../../../platform/problems/errors.ts'
import type { DigestNonce } from './digest-nonce.ts'

/** `stale`: nobody can tell any more whether it was used. */
export type CountVerdict = 'used' | 'refused' | 'stale'

export interface DigestCounts {
  /** Uses a count of a nonce, for once. @throws Unavailable when it may have been used or not */
  use(nonce: DigestNonce, count: number): Promise<CountVerdict>
}

export interface DigestCountsOptions {
  readonly cache: Pick<Cache, 'useNumber' | 'startNumbers'>
  readonly database: Pick<Database, 'query'>
  /** The PostgreSQL schema of `digest_counts`. */
  readonly schema: 'auth' | 'deals'
}

/** So much longer than it is good a nonce is remembered, in milliseconds: the clocks of servers differ. */
export const rememberedMs = 600_000

/** `used = 0` says that the counts live in the cache. Parameters: nonce, count, `used` of a new row, when it expires. */
const useSql = (schema: string) => `insert into ${schema}.digest_counts as c (nonce, highest, used, expires_at)
  select $1::text, $2::int, $3::bigint, $4::timestamptz
  where $2::int <= ${windowWidth} or exists (select 1 from ${schema}.digest_counts where nonce = $1::text)
  on conflict (nonce) do update set
    highest = greatest(c.highest, $2::int),
    used = case when $2::int - c.highest >= ${windowWidth} then 1
      when $2::int > c.highest then (c.used << ($2::int - c.highest)) | 1
      else c.used | (1::bigint << (c.highest - $2::int)) end
  where c.used <> 0 and $2::int - c.highest > -${windowWidth}
    and ($2::int > c.highest or (c.used >> (c.highest - $2::int)) & 1 = 0)
  returning case when xmax = 0 then 'new' else 'used' end as outcome`

const lookSql = (schema: string) => `select (used = 0)::text as "inCache" from ${schema}.digest_counts where nonce = $1`

/** Counts in a cache, behind which a database stands. */
export function createDigestCounts({ cache, database, schema }: DigestCountsOptions): DigestCounts {
  const [useText, lookText] = [useSql(schema), lookSql(schema)]
  const useCached = async (key: string, number: number, ttlSeconds: number) => {
    try {
      return await cache.useNumber(key, { number, ttlSeconds })
    } catch (error) {
      if (error instanceof Unavailable) return 'away'
      throw error
    }
  }
  const start = async (key: string, number: number, ttlSeconds: number) => {
    try {
      await cache.startNumbers(key, { number, ttlSeconds })
    } catch (error) {
      // The nonce will be stale at its next use.
      if (!(error instanceof Unavailable)) throw error
    }
  }
  return {
    use: async ({ text, expiresAt, issuedAt }, count) => {
      // More than the column holds, and than any client can send while a nonce is good.
      if (count > 0x7fff_ffff) return 'stale'
      const key = `{keyhold}:digest:${schema}:${text}`
      const ttlSeconds = (expiresAt - issuedAt + rememberedMs) / 1000
      const cached = await useCached(key, count, ttlSeconds)
      if (cached === 'used' || cached === 'refused') return cached
      const expires = new Date(expiresAt + rememberedMs).toISOString()
      const used = cached === 'unknown' ? 0 : 1
      const [row] = await database.query<{ outcome: string }>(useText, [text, count, used, expires])
      if (row?.outcome === 'new' && cached === 'unknown') await start(key, count, ttlSeconds)
      if (row) return 'used'
      const [known] = await database.query<{ inCache: string }>(lookText, [text])
      if (known?.inCache === 'false') return 'refused'
      if (!known || cached === 'away') return 'stale'
      // The first use may have reached the cache meanwhile.
      const again = await useCached(key, count, ttlSeconds)
      return again === 'used' || again === 'refused' ? again : 'stale'
    },
  }
}
