/**
 * Which shard a database is. Each shard knows its own number, so that no server writes or reads deals at a wrong place:
 * shards in another order, a shard that is asked by itself, a database that leads nowhere.
 */
import { type Database, DatabaseError } from '../../../shared/platform/database/database.ts'
import { OperatorError } from '../../../shared/platform/operator-error.ts'
import { type LeadingDatabase, shardDatabases } from './shard-database.ts'

interface Place {
  readonly shard: number
  readonly shards: number
}

interface FoundPlace {
  readonly place: Place | null
  readonly migrated: string
}

const readPlace = `select (select to_json(p) from deals.shard_place p) as place,
  (select max(created_at)::text from deals.__drizzle_migrations) as migrated`

const hasDeals = `select to_json(exists (select from deals.deals)) as found`

/**
 * Checks the database of a deal server, after its migrations. With one shard it must be none of several; with more, it
 * must lead to each of them, and each must have these migrations. @throws OperatorError; Unavailable
 */
export async function requireShards(database: LeadingDatabase, shards: number): Promise<void> {
  const [own] = await database.query<FoundPlace>(readPlace)
  if (own?.place) throw wrong(`the database is ${nameOf(own.place)}: a server needs the one that leads to all shards`)
  if (shards === 1) return
  const [deals] = await database.query<{ found: boolean }>(hasDeals)
  if (deals?.found) throw wrong('the database has deals of its own, which a server with shards does not read')
  for (const [shard, { query }] of shardDatabases(database, shards).entries()) {
    const [found] = await query<FoundPlace>(readPlace).catch((error: unknown) => {
      throw error instanceof DatabaseError ? unprepared(shard, shards, error.message) : error
    })
    const { place } = found ?? {}
    if (place?.shard !== shard || place.shards !== shards) {
      const there = place ? nameOf(place) : 'no shard'
      throw unprepared(shard, shards, `deals.on_shard leads to a database that is ${there}`)
    }
    if (Number(found?.migrated) < Number(own?.migrated)) throw unprepared(shard, shards, 'its migrations are older')
  }
}

/**
 * Makes a database, after its migrations, the shard of this number. Does nothing if it is that already.
 * @throws OperatorError when it is another one, or has deals that belong elsewhere; Unavailable
 */
export async function becomeShard(database: Pick<Database, 'query' | 'write'>, place: Place): Promise<void> {
  const { shard, shards } = place
  const [foreign] = await database.query<{ found: boolean }>(
    `select to_json(exists (
      select from deals.deals where deals.bucket_of(id) % $2::text::int <> $1::text::int)) as found`,
    [shard, shards],
  )
  if (foreign?.found) throw wrong(`the database has deals that do not belong to ${nameOf(place)}`)
  await database.write(
    `insert into deals.shard_place (shard, shards) values ($1::text::int, $2::text::int)
      on conflict do nothing returning to_json(shard) as shard`,
    [shard, shards],
  )
  const [found] = await database.query<FoundPlace>(readPlace)
  if (found?.place?.shard === shard && found.place.shards === shards) return
  throw wrong(`the database is ${found?.place ? nameOf(found.place) : 'no shard'}, and stays that`)
}

const nameOf = ({ shard, shards }: Place): string => `shard ${shard} of ${shards}`

const wrong = (reason: string) => new OperatorError(`DEAL_DATABASE_URL: ${reason} (docs/sharding.md).`)

const unprepared = (shard: number, shards: number, reason: string) =>
  new OperatorError(
    `DEAL_SHARDS=${shards}: ${nameOf({ shard, shards })} is not prepared (docs/sharding.md): ${reason}.`,
  )
