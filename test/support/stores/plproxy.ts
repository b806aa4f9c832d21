/** Databases of a test's own on one PostgreSQL server: two shards, and one that leads to them by PL/Proxy. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { becomeShard } from '../../../deal-server/store/shards/shard-place.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { type Backend, openPostgresAndRedis } from './backends.ts'
import { migrateBoth } from './migrate-both.ts'
import { createScratchDatabase, type ScratchDatabase } from './scratch-database.ts'

const proxySql = readFileSync(join(import.meta.dirname, '../../../deploy/plproxy/proxy.sql'), 'utf8')

/** The number of shards. */
export const shards = 2

/** Shards, and what leads to them. */
export interface Proxied {
  /** The database that leads to the shards. */
  readonly url: string
  readonly shards: readonly ScratchDatabase[]
  drop(): Promise<void>
}

/** Whether the PostgreSQL server of this URL has PL/Proxy. */
export async function hasPlproxy(serverUrl: string | undefined): Promise<boolean> {
  if (serverUrl === undefined) return false
  const found = await runSql(serverUrl, "select from pg_available_extensions where name = 'plproxy'")
  return found.length > 0
}

/** Runs statements on a connection of its own. */
export async function runSql(url: string, text: string): Promise<readonly object[]> {
  const plain = new URL(url)
  plain.searchParams.delete('pgbouncer')
  const client = postgres(plain.href, { max: 1, onnotice: () => {} })
  try {
    return [...(await client.unsafe(text).simple())]
  } finally {
    await client.end()
  }
}

/** Leads the migrated database of `url` to these shards, as docs/sharding.md says. */
export async function leadToShards(url: string, shardUrls: readonly string[]): Promise<void> {
  const { username } = new URL(url)
  const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`
  const places = shardUrls.map((shardUrl, shard) => {
    const { hostname, port, pathname } = new URL(shardUrl)
    return [`:'p${shard}'`, quoted(`host=${hostname} port=${port || 5432} dbname=${pathname.slice(1)}`)] as const
  })
  const values = [
    ...places,
    [`:'role'`, quoted(username)],
    [`:"role"`, `"${username}"`],
    [`:'password'`, "'none'"],
  ] as const
  await runSql(
    url,
    values.reduce((text, [name, value]) => text.replaceAll(name, () => value), proxySql),
  )
}

/** Creates the databases on the server of `serverUrl`; the last shard on that of `lastShardUrl`. */
export async function createProxied(serverUrl: string, lastShardUrl = serverUrl): Promise<Proxied> {
  const places = [...Array<string>(shards).fill(serverUrl), lastShardUrl]
  const databases = await Promise.all(places.map(createScratchDatabase))
  const proxied = await prepareShards(databases)
  await leadToShards(
    proxied.url,
    proxied.shards.map(({ url }) => url),
  )
  return proxied
}

/** Migrates databases: one that leads to the others, which become shards. */
export async function prepareShards(databases: readonly ScratchDatabase[]): Promise<Proxied> {
  const [leading, ...parts] = databases
  if (!leading) throw new TypeError('there is a first database')
  for (const [index, { url }] of databases.entries()) {
    const database = openPostgres(url)
    await migrateBoth(database)
    if (index > 0) await becomeShard(database, { shard: index - 1, shards })
    await database.close()
  }
  const drop = async () => {
    // The sessions at the shards end with those at the database that leads there.
    for (const database of databases) await database.drop()
  }
  return { url: leading.url, shards: parts, drop }
}

/** A backend whose deals are on shards. */
export interface ProxiedBackend extends Backend {
  /** To look into, beside the servers. */
  readonly shardUrls: readonly string[]
}

/** PostgreSQL and Redis, with the deals on shards behind PL/Proxy. `lastShardUrl` as of `createProxied`. */
export const openProxied = async (serverUrl: string, lastShardUrl?: string): Promise<ProxiedBackend> =>
  openOver(await openPostgresAndRedis(serverUrl), await createProxied(serverUrl, lastShardUrl))

/** The backend with its deals on these shards. */
export function openOver(backend: Backend, proxied: Proxied): ProxiedBackend {
  const urls = { AUTH_DATABASE_URL: proxied.url, DEAL_DATABASE_URL: proxied.url, DEAL_SHARDS: String(shards) }
  return {
    ...backend,
    shardUrls: proxied.shards.map(({ url }) => url),
    environment: { ...backend.environment, ...urls },
    openDatabase: () => openPostgres(proxied.url),
    close: async () => {
      await proxied.drop()
      await backend.close()
    },
  }
}
