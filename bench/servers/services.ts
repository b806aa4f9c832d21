/** PostgreSQL and Redis as processes of this machine, for their CPU times. */
import { Redis } from 'ioredis'
import postgres from 'postgres'
import { cpuOfFamily, cpuOfProcess, parentOf } from './cpu-time.ts'

/** What the services say of themselves, and the CPU time that they have used so far. */
export interface Services {
  readonly versions: { readonly postgres: string; readonly redis: string }
  /** In microseconds; undefined when the service runs on another machine. */
  cpu(): { readonly postgres: number | undefined; readonly redis: number | undefined }
}

/** Asks both services for their version and their process. */
export async function findServices({ databaseUrl, redisUrl }: { databaseUrl: string; redisUrl: string }) {
  const database = await askPostgres(databaseUrl)
  const cache = await askRedis(redisUrl)
  const services: Services = {
    versions: { postgres: database.version, redis: cache.version },
    cpu: () => ({
      postgres: database.pid === undefined ? undefined : cpuOfFamily(database.pid),
      redis: cache.pid === undefined ? undefined : cpuOfProcess(cache.pid),
    }),
  }
  return services
}

async function askPostgres(url: string) {
  const client = postgres(url, { max: 1, onnotice: () => {} })
  try {
    const [row] = await client`select pg_backend_pid() as pid, current_setting('server_version') as version`
    const pid = whenLocal(() => parentOf(Number(row?.pid)), url)
    return { version: String(row?.version), pid }
  } finally {
    await client.end({ timeout: 1 })
  }
}

async function askRedis(url: string) {
  const redis = new Redis(url)
  try {
    const info = await redis.info('server')
    const of = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
    const pid = Number(of('process_id'))
    const local = whenLocal(() => cpuOfProcess(pid), url)
    return { version: of('redis_version'), pid: local === undefined ? undefined : pid }
  } finally {
    redis.disconnect()
  }
}

/** A process id means nothing on another machine or in another container. */
function whenLocal<Value>(find: () => Value, url: string): Value | undefined {
  if (!['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname)) return undefined
  try {
    return find()
  } catch {
    return undefined
  }
}
