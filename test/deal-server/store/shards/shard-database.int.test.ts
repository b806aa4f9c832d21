import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commandReservations } from '../../../../deal-server/store/schema.ts'
import { type ShardDatabase, shardDatabases } from '../../../../deal-server/store/shards/shard-database.ts'
import { becomeShard, requireShards } from '../../../../deal-server/store/shards/shard-place.ts'
import { type Database, DatabaseError, TookTooLong } from '../../../../shared/platform/database/database.ts'
import { OperatorError } from '../../../../shared/platform/operator-error.ts'
import { openPostgres } from '../../../../shared/platform/postgres/postgres.ts'
import { Unavailable } from '../../../../shared/platform/problems/errors.ts'
import { campaign } from '../../../support/campaign.ts'
import { createProxied, hasPlproxy, leadToShards, type Proxied } from '../../../support/stores/plproxy.ts'

const { TEST_DATABASE_URL: serverUrl = '' } = process.env

describe.skipIf(!(await hasPlproxy(process.env.TEST_DATABASE_URL)))('shards behind PL/Proxy', () => {
  let proxied: Proxied
  let leading: Database
  let shards: ShardDatabase[]
  let first: ShardDatabase

  beforeAll(async () => {
    proxied = await createProxied(serverUrl)
    leading = openPostgres(proxied.url)
    shards = shardDatabases(leading, 2)
    const [any] = shards
    if (!any) throw new TypeError('there is a shard')
    first = any
  })
  afterAll(async () => {
    await leading.close()
    await proxied.drop()
  })

  /** Leads to the shards of these numbers, and opens a database that does. */
  const leadTo = async (...numbers: readonly number[]): Promise<void> => {
    await leadToShards(
      proxied.url,
      numbers.map((number) => proxied.shards[number]?.url ?? ''),
    )
  }

  it('are different databases, in their order', async () => {
    const names = await Promise.all(shards.map(({ query }) => query('select current_database() as name')))
    expect(names).toEqual(proxied.shards.map(({ url }) => [{ name: new URL(url).pathname.slice(1) }]))
    await requireShards(leading, 2)
  })

  it('get every parameter as it is', async () => {
    const statement = `select $1::text as "one %1$L", $2::text as two, ($3::text::json) as three, '%' as percent`
    const anyText = fc.string({ unit: 'grapheme', maxLength: 12 }).filter((text) => !text.includes('\0'))
    const hostile = fc.constantFrom(
      "'",
      "\\'",
      '$1',
      '%1$L',
      '%',
      '{"a":[1]}',
      '\\',
      '\n',
      "'; select 1 --",
      '\u{1f600}',
    )
    const check = async (one: string, two: string | null) => {
      const [row] = await first.query(statement.replace('one %1$L', 'one'), [one, two, '{"b":1,"a":[null,"x"]}'])
      expect(row).toEqual({ one, two, three: { b: 1, a: [null, 'x'] }, percent: '%' })
      expect(Object.keys((row as { three: object }).three)).toEqual(['b', 'a'])
    }
    const texts = fc.oneof(anyText, hostile)
    const property = fc.asyncProperty(texts, fc.option(texts), check)
    await fc.assert(property, { numRuns: campaign({ short: 60, long: 5000 }) })
  })

  it('answer a query builder, and one that writes', async () => {
    const rows = await first.drizzle
      .select({ two: sql<number>`1 + 1`.as('two'), one: sql<number>`1`.as('one') })
      .from(sql`(select) one`)
    expect(rows).toEqual([{ two: 2, one: 1 }])
    const insert = first.writes.insert(commandReservations).values({
      ...{ principalId: 'p', commandId: 'c', dealId: '0198c0de-0000-4000-8000-000000000001' },
      ...{ useCase: 'HoldDeal', fingerprint: 'f' },
    })
    expect(await insert.returning({ id: commandReservations.commandId })).toEqual([{ id: 'c' }])
    const refused = first.drizzle.select({ one: sql`1` }).from(sql`nowhere`)
    await expect(refused).rejects.toBeInstanceOf(DatabaseError)
  })

  it('tell what PostgreSQL refuses there by its SQLSTATE', async () => {
    const insert = 'insert into deals.shard_place (shard, shards) values (0, 2) returning shard'
    await expect(first.write(insert)).rejects.toMatchObject({ name: 'DatabaseError', sqlState: '23505' })
    await expect(first.query('select 1 / 0')).rejects.toMatchObject({ sqlState: '22012' })
  })

  it('end a statement that takes too long', async () => {
    const slow = first.readWithin(sql`select pg_sleep(20)::text as slept`, 200)
    await expect(slow).rejects.toBeInstanceOf(TookTooLong)
    expect(await first.query('select 1 as one')).toEqual([{ one: 1 }])
  })

  it('are refused at the start in another order, when one is missing, and alone', async () => {
    const refusal = async (shards: number, database: Database = leading) => {
      const error: unknown = await requireShards(database, shards).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(OperatorError)
      return (error as OperatorError).message
    }
    await leadTo(1, 0)
    expect(await refusal(2)).toMatch(/shard 0 of 2 is not prepared .*: deals.on_shard leads to .* is shard 1 of 2/)
    await leadTo(0, 0)
    expect(await refusal(2)).toMatch(/shard 1 of 2 is not prepared .* is shard 0 of 2/)
    await leadTo(0, 1)
    await requireShards(leading, 2)
    expect(await refusal(4)).toMatch(/shard 0 of 4 is not prepared/)
    const alone = openPostgres(proxied.shards[1]?.url ?? '')
    expect(await refusal(1, alone)).toMatch(/is shard 1 of 2: a server needs the one that leads/)
    await expect(becomeShard(alone, { shard: 0, shards: 2 })).rejects.toThrow(/is shard 1 of 2, and stays that/)
    await becomeShard(alone, { shard: 1, shards: 2 })
    await alone.close()
  })

  it('are unavailable one by one, and come back by themselves', async () => {
    const second = shards[1] ?? first
    const [name] = await second.query<{ name: string }>('select current_database() as name')
    const admin = openPostgres(serverUrl)
    await admin.drizzle.execute(sql.raw(`alter database ${name?.name} allow_connections false`))
    const end = 'select to_json(count(pg_terminate_backend(pid))) as ended from pg_stat_activity where datname = $1'
    await admin.write(end, [name?.name ?? ''])
    for (let round = 0; round < 3; round += 1) {
      await expect(second.query('select 1 as one')).rejects.toBeInstanceOf(Unavailable)
      await expect(second.write('select 1 as one')).rejects.toBeInstanceOf(Unavailable)
      expect(await first.query('select 1 as one')).toEqual([{ one: 1 }])
    }
    await admin.drizzle.execute(sql.raw(`alter database ${name?.name} allow_connections true`))
    await expect.poll(() => second.query('select 1 as one').catch(() => 'away')).toEqual([{ one: 1 }])
    await admin.close()
  })
})
