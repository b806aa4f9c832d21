import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { getTableColumns, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { expect, it } from 'vitest'
import { createDealRepository } from '../../../deal-server/store/deals.ts'
import { bucketOf } from '../../../deal-server/store/events/bucket.ts'
import { commands, deals, events, tasks } from '../../../deal-server/store/schema.ts'
import { type Database, DatabaseError } from '../../../shared/platform/database/database.ts'
import { campaign } from '../../support/campaign.ts'
import { describeCitus } from '../../support/stores/citus.ts'
import { databaseOfSuite, describeDatabases, type OpenOwnDatabase } from '../../support/stores/own-database.ts'
import { commitOf, newDeal } from './commits.ts'

const rounds = campaign({ short: 20, long: 1000 })

/** Gives every unique constraint the name that it could have in a partition. */
async function renameConstraints({ drizzle }: Database): Promise<void> {
  const names = { deals: 'deals_pkey', commands: 'commands_pkey', events: 'events_of_deal' }
  for (const [table, name] of Object.entries(names)) {
    await drizzle.execute(sql.raw(`alter table deals.${table} rename constraint ${name} to ${name}_102024`))
  }
}

const shuffled = <Item>(items: readonly Item[]): Item[] =>
  items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)

/** The names in a list of columns, without those of their table. */
const namesIn = (list = '') => Array.from(list.matchAll(/(?:\w+\.)?(\w+)/g), ([, name]) => name)

const columnsOf = (table: PgTable, without: readonly string[]) =>
  Object.values(getTableColumns(table))
    .map(({ name }) => name)
    .filter((name) => !without.includes(name))
    .sort()

const describeCommits = (open: OpenOwnDatabase): void => {
  const { database, openAnother } = databaseOfSuite(open)
  const store = createDealRepository(database)

  const historyOf = async (dealId: string) => (await store.history(dealId, { limit: 10, after: undefined })).items

  it('a command id that is taken comes before all else, and undoes the commit', async () => {
    const key = { principalId: randomUUID(), commandId: 'once' }
    const [first, second] = [newDeal(), newDeal()]
    expect(await store.commit(commitOf(first, { key }))).toBe('committed')
    expect(await store.commit(commitOf(second, { key }))).toBe('command-taken')
    expect(await store.commit(commitOf(first, { key }))).toBe('command-taken')
    expect([(await store.load(second.id, undefined)).deal, await historyOf(second.id)]).toEqual([undefined, []])
    const otherPrincipal = { ...key, principalId: randomUUID() }
    expect(await store.commit(commitOf(second, { key: otherPrincipal }))).toBe('committed')
  })

  it('a creation with the id of a purged deal, and a change whose events exist, lose', async () => {
    const [purged, deal] = [newDeal(), newDeal()]
    for (const created of [purged, deal]) expect(await store.commit(commitOf(created))).toBe('committed')
    await database.write('delete from deals.deals where id = $1::text::uuid', [purged.id])
    expect(await store.commit(commitOf(purged))).toBe('version-lost')
    const changed = { ...deal, name: 'changed', version: 2 }
    expect(await store.commit(commitOf(changed, { before: deal }))).toBe('version-lost')
    expect(await store.commit(commitOf({ ...changed, sequence: 2 }, { before: deal }))).toBe('committed')
  })

  it('of two servers over the same deals never wait for each other: each change is written once', async () => {
    const errors: string[] = []
    const stores = [database, openAnother()].map((each) =>
      createDealRepository({
        query: each.query,
        write: (...args: Parameters<Database['write']>) =>
          each.write(...args).catch((error: unknown) => {
            errors.push(String(error))
            throw error
          }),
      } as Database),
    )
    let deals = Array.from({ length: 40 }, () => newDeal())
    await Promise.all(deals.map((deal) => store.commit(commitOf(deal))))
    for (let round = 2; round <= rounds; round += 1) {
      const next = deals.map((before) => ({ ...before, version: round, sequence: round }))
      const results = await Promise.all(
        stores.map(async (each) => {
          const order = shuffled(deals.map((before, at) => [before, next[at] as typeof before] as const))
          const pairs = order.map(async ([before, deal]) => [deal.id, await each.commit(commitOf(deal, { before }))])
          return new Map((await Promise.all(pairs)) as [string, string][])
        }),
      )
      const outcomes = deals.map(({ id }) => results.map((of) => of.get(id)).sort())
      expect(outcomes).toEqual(deals.map(() => ['committed', 'version-lost']))
      deals = next
    }
    expect(errors).toEqual([])
  })

  it('a duplicate that no row explains stays an error', async () => {
    const deal = newDeal()
    await store.commit(commitOf(deal))
    await database.drizzle.execute(
      sql`create unique index by_three on deals.events (bucket, deal_version, actor_user_id)`,
    )
    const first = newDeal()
    const commit = commitOf(first)
    const same = { ...commit, context: { ...commit.context, actorUserId: randomUUID() } }
    expect(await store.commit(same)).toBe('committed')
    let second = newDeal()
    while (bucketOf(second.id) !== bucketOf(first.id)) second = newDeal()
    const another = commitOf(second)
    const refused = store.commit({ ...another, context: same.context })
    await expect(refused).rejects.toBeInstanceOf(DatabaseError)
    await expect(refused).rejects.toMatchObject({ sqlState: '23505' })
  })
}

/** Over PostgreSQL, constraints get other names first. In a cluster each shard has names of its own. */
describeDatabases('commits, whatever constraints are called', (open) =>
  describeCommits(async () => {
    const own = await open()
    const database = own.openDatabase()
    await renameConstraints(database)
    await database.close()
    return own
  }),
)
describeCitus('commits', describeCommits)

it('write every column in a cluster too, row by row', () => {
  const text = readFileSync('deploy/citus/distribute.sql', 'utf8')
  for (const [name, table] of Object.entries({ deals, events, commands, tasks })) {
    const [, into, values] =
      new RegExp(`insert into deals\\.${name} \\(([^)]*)\\) values \\(([^)]*)\\)`).exec(text) ?? []
    expect(namesIn(into).sort()).toEqual(columnsOf(table, []))
    const written = namesIn(values).map((value) =>
      value === 'upto' ? 'number' : value === '1' ? 'schema_version' : value,
    )
    expect(written).toEqual(namesIn(into))
  }
  const [, set] = /update deals\.deals s set([\s\S]*?)where/.exec(text) ?? []
  expect(Array.from(set?.matchAll(/(\w+) = d\.\1\b/g) ?? [], ([, name]) => name).sort()).toEqual(
    columnsOf(deals, ['id', 'bucket']),
  )
  const ofTask = Array.from(text.matchAll(/(\w+) = excluded\.\1\b/g), ([, name]) => name)
  expect(ofTask.sort()).toEqual(columnsOf(tasks, ['deal_id', 'id', 'bucket']))
})

it('write every column: their function names those of the schema, values in the order of names', () => {
  const text = readFileSync('deal-server/store/functions/commit.sql', 'utf8')
  const [, set, ofDeal] = /UPDATE deals\.deals d SET \(([^)]*)\) = \(\s*SELECT ([^()]*?)\s+FROM/.exec(text) ?? []
  expect(namesIn(set).sort()).toEqual(columnsOf(deals, ['id', 'bucket']))
  expect(namesIn(ofDeal)).toEqual(namesIn(set))
  const [, into, ofEvent] = /INSERT INTO deals\.events \(([^)]*)\)\s*SELECT ([^()]*?)\s+FROM/.exec(text) ?? []
  expect(namesIn(into).sort()).toEqual(columnsOf(events, ['schema_version']))
  expect(namesIn(ofEvent)).toEqual(namesIn(into))
  const ofTask = Array.from(text.matchAll(/(\w+) = excluded\.\1\b/g), ([, name]) => name)
  expect(ofTask.sort()).toEqual(columnsOf(tasks, ['deal_id', 'id', 'bucket']))
})
