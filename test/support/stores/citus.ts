/** Databases of a test's own in a Citus cluster: one on the coordinator, and a shard on each of two workers. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { findPostgresBinaries } from '../processes/postgres-server.ts'
import { openPostgresAndRedis } from './backends.ts'
import { openOver, type Proxied, type ProxiedBackend, prepareShards, runSql, shards } from './plproxy.ts'
import { createNamedDatabase, scratchName } from './scratch-database.ts'

const leadSql = join(import.meta.dirname, '../../../deploy/citus/lead.sql')

/** A database of a coordinator that has workers; undefined where suites run without Citus. Its user is a superuser. */
export const citusUrl = process.env.TEST_CITUS_URL

const addressOf = (url: string): string => {
  const { hostname, port } = new URL(url)
  return `${hostname}:${port || 5432}`
}

/** Creates the databases, and leads to the shards, as docs/sharding.md says. */
export async function createCitus(coordinatorUrl: string): Promise<Proxied> {
  const nodes = (await runSql(
    coordinatorUrl,
    `select nodename, nodeport from pg_dist_node where groupid > 0 order by groupid limit ${shards}`,
  )) as { nodename: string; nodeport: number }[]
  const workers = nodes.map(({ nodename, nodeport }) => {
    const url = new URL(coordinatorUrl)
    url.host = `${nodename}:${nodeport}`
    return url.href
  })
  const name = scratchName()
  const databases = await Promise.all([coordinatorUrl, ...workers].map((url) => createNamedDatabase(url, name)))
  const proxied = await prepareShards(databases)
  for (const { url } of databases) await runSql(url, 'create extension citus')
  const values = { coordinator: addressOf(coordinatorUrl), workers: workers.map(addressOf).join(), ON_ERROR_STOP: '1' }
  const options = Object.entries(values).flatMap(([key, value]) => ['-v', `${key}=${value}`])
  const psql = join(findPostgresBinaries() ?? '', 'psql')
  execFileSync(psql, ['-qX', ...options, '-f', leadSql, proxied.url], { stdio: 'pipe' })
  // Citus sends a call on only when it is planned with its arguments.
  return { ...proxied, url: `${proxied.url}?pgbouncer=true` }
}

/** PostgreSQL and Redis, with the deals on shards behind a coordinator. */
export const openCitus = async (serverUrl: string, coordinatorUrl: string): Promise<ProxiedBackend> =>
  openOver(await openPostgresAndRedis(serverUrl), await createCitus(coordinatorUrl))
