/** The ways to PostgreSQL and Redis on which others could listen or answer in their place. */

import type { Log } from '../../platform/log/log.ts'
import { isVerifiedDatabaseUrl } from '../../platform/postgres/postgres-client.ts'
import { isVerifiedRedisUrl } from '../../platform/redis/redis-url.ts'

/** URLs by the name of their setting; undefined for what is in this process. They have been checked. */
export interface Ways {
  readonly databases: Readonly<Record<string, string | undefined>>
  readonly redisUrl: string | undefined
}

/** Warns of each that leaves this machine without TLS to a verified host (ASVS 12.3.2); a private network may be reason enough. */
export function warnOfUnverifiedWays(log: Pick<Log, 'warn'>, { databases, redisUrl }: Ways): void {
  for (const [setting, url] of Object.entries(databases)) {
    if (url !== undefined && !isVerifiedDatabaseUrl(url)) log.warn(`${setting}: ${sentence} sslmode=verify-full`)
  }
  if (redisUrl !== undefined && !isVerifiedRedisUrl(redisUrl)) log.warn(`REDIS_URL: ${sentence} rediss://`)
}

const sentence =
  'what goes there leaves this machine without TLS to a verified host. Unless the network is private, use'
