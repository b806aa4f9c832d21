/**
 * The program that prepares a database for shards: it applies the migrations, and makes it the shard of a number. With
 * no number it applies the migrations alone: in the database that leads to the shards (docs/sharding.md).
 */
import { join } from 'node:path'
import { migrateDatabase } from '../shared/platform/database/migrate.ts'
import { prepareDatabase } from '../shared/platform/database/prepare.ts'
import { ensureTrigramIndex } from '../shared/platform/database/trigram-index.ts'
import { openPostgres } from '../shared/platform/postgres/postgres.ts'
import { beginServer, endWith } from '../shared/platform/process/process.ts'
import { projectFolder } from '../shared/platform/project-folder.ts'
import { readShardDatabase } from './config.ts'
import { dealSearchIndex } from './store/search-index.ts'
import { maxShards } from './store/shards/shard-of.ts'
import { becomeShard } from './store/shards/shard-place.ts'

const usage = `Usage: prepare-shard [NUMBER SHARDS]

Applies the migrations of the deal server to the database in DEAL_DATABASE_URL, and makes it shard NUMBER (from 0) of
SHARDS (a power of two, at most ${maxShards}). Without numbers: the migrations alone.`

beginServer()
const given = process.argv.slice(2)
const [shard = -1, shards = 0] = given.map((text) => (/^\d{1,3}$/.test(text) ? Number(text) : Number.NaN))
const isPlace = given.length === 2 && shard < shards && shards <= maxShards && Number.isInteger(Math.log2(shards))
if (given.length > 0 && !isPlace) endWith(2, usage)
const url = readShardDatabase()
if (url === undefined) endWith(2, `DEAL_DATABASE_URL is missing.\n\n${usage}`)

const database = openPostgres(url)
await prepareDatabase('DEAL_DATABASE_URL', async () => {
  const migrations = { migrationsFolder: join(projectFolder, 'deal-server/store/migrations'), schema: 'deals' }
  await migrateDatabase(database, migrations)
  if (!isPlace) return
  await becomeShard(database, { shard, shards })
  await ensureTrigramIndex(database, dealSearchIndex)
})
await database.close()
process.stdout.write(isPlace ? `The database is shard ${shard} of ${shards}.\n` : 'The database has all migrations.\n')
