/**
 * Connections to PostgreSQL and Redis that others could read, or whose other end they could impersonate, and what has
 * no effect in their URLs.
 */

import type { Log } from '../../platform/log/log.ts'
import { isVerifiedDatabaseUrl, parseDatabaseUrl } from '../../platform/postgres/postgres-url.ts'
import { isVerifiedRedisUrl, noRedis } from '../../platform/redis/redis-url.ts'

/** Valid URLs by the name of their setting; undefined for a dependency inside this process. */
export interface Ways {
  readonly databases: Readonly<Record<string, string | undefined>>
  readonly redisUrl: string | undefined
}

/**
 * Warns of each connection that leaves this machine without TLS to a verified host (ASVS 12.3.2), which can be
 * acceptable in a private network, and of parameters without effect.
 */
export function warnOfWays(log: Log, { databases, redisUrl }: Ways): void {
  for (const [setting, url] of Object.entries(databases)) {
    if (url === undefined) continue
    if (!isVerifiedDatabaseUrl(url)) log.warn(`${setting}: ${sentence} sslmode=verify-full`)
    const { ignored } = parseDatabaseUrl(url)
    if (ignored.length > 0) log.warn(`${setting}: these parameters have no effect here: ${ignored.join(', ')}`)
  }
  if (redisUrl !== undefined && redisUrl !== noRedis && !isVerifiedRedisUrl(redisUrl))
    log.warn(`REDIS_URL: ${sentence} rediss://`)
}

const sentence =
  'what goes there leaves this machine without TLS to a verified host. Unless the network is private, use'
