/** Connections to PostgreSQL and Redis that others could read, or whose other end they could impersonate. */

import type { Log } from '../../platform/log/log.ts'
import { isVerifiedDatabaseUrl } from '../../platform/postgres/postgres-url.ts'
import { isVerifiedRedisUrl, noRedis } from '../../platform/redis/redis-url.ts'

/** Valid URLs by the name of their setting; undefined for a dependency inside this process. */
export interface Ways {
  readonly databases: Readonly<Record<string, string | undefined>>
  readonly redisUrl: string | undefined
}

/**
 * Warns of each connection that leaves this machine without TLS to a verified host (ASVS 12.3.2). In a private network
 * that can be acceptable.
 */
export function warnOfUnverifiedWays(log: Pick<Log, 'warn'>, { databases, redisUrl }: Ways): void {
  for (const [setting, url] of Object.entries(databases)) {
    if (url !== undefined && !isVerifiedDatabaseUrl(url)) log.warn(`${setting}: ${sentence} sslmode=verify-full`)
  }
  if (redisUrl !== undefined && redisUrl !== noRedis && !isVerifiedRedisUrl(redisUrl))
    log.warn(`REDIS_URL: ${sentence} rediss://`)
}

const sentence =
  'what goes there leaves this machine without TLS to a verified host. Unless the network is private, use'
