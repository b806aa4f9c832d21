import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { expect, it } from 'vitest'
import { createDealRepository } from '../../../deal-server/store/deals.ts'
import { bucketOf } from '../../../deal-server/store/events/bucket.ts'
import { campaign } from '../../support/campaign.ts'
import { describeDealStores } from '../../support/stores/citus.ts'
import { databaseOfSuite } from '../../support/stores/own-database.ts'
import { commitOf, newDeal } from './commits.ts'

const rounds = campaign({ short: 12, long: 300 })
const oneSession = 'one session serves everybody here'

describeDealStores('numbers of events', (open) => {
  const { database, openAnother } = databaseOfSuite(open)

  const ids = (count: number) => Array.from({ length: count }, () => randomUUID() as string)
  const query = <Row extends object>(text: string, parameters: string[] = []) => database.query<Row>(text, parameters)

  it('belong to buckets that servers and database compute alike', async () => {
    const deals = ids(500)
    type Row = { id: string; bucket: number }
    const rows = await query<Row>(
      'select d::text as id, to_json(deals.bucket_of(d)) as bucket from unnest($1::text::uuid[]) d',
      [`{${deals.join(',')}}`],
    )
    expect(rows).toEqual(deals.map((id) => ({ id, bucket: bucketOf(id) })))
    expect(new Set(rows.map(({ bucket }) => bucket)).size).toBeGreaterThan(300)
  })

  it('have no gap, and grow with a deal, whoever writes at the same time', async () => {
    const stores = [database, openAnother()].map((each) => createDealRepository(each))
    const present = stores.map(async (store) => {
      for (let round = 0; round < rounds; round += 1) {
        const created = await Promise.all(
          Array.from({ length: 1 + (round % 40) }, async () => {
            const deal = newDeal()
            expect(await store.commit(commitOf(deal))).toBe('committed')
            return deal
          }),
        )
        const changes = created.map((before) =>
          store.commit(commitOf({ ...before, version: 2, sequence: 2 }, { before })),
        )
        expect(new Set(await Promise.all(changes))).toEqual(new Set(['committed']))
      }
    })
    await Promise.all(present)
    const [row] = await query<{ written: number; wrong: number; counted: boolean }>(`
      select to_json(count(*)) as written, to_json(count(*) filter (where number <> nth or not in_order
          or bucket <> deals.bucket_of(deal_id))) as wrong,
        to_json(count(*) = (select sum(count) from deals.event_counters)) as counted
      from (select *, row_number() over (partition by bucket order by number) as nth,
          coalesce(number > lag(number) over (partition by deal_id order by sequence), true) as in_order
        from deals.events) e`)
    expect(row).toMatchObject({ wrong: 0, counted: true })
    expect(row?.written).toBeGreaterThan(rounds * 20)
  })

  it('wait for no open transaction of another bucket', async ({ skip }) => {
    skip(!database.concurrentSessions, oneSession)
    const same = newDeal()
    const another = Array.from({ length: 5 }, () => newDeal()).find(({ id }) => bucketOf(id) !== bucketOf(same.id))
    if (!another) throw new Error('five deals are in one bucket')
    const other = openAnother()
    const [store, second] = [createDealRepository(other), createDealRepository(other)]
    for (const deal of [same, another]) await store.commit(commitOf(deal))
    const changed = (before: typeof same) => commitOf({ ...before, version: 2, sequence: 2 }, { before })
    const waiting = await database.transaction(async (transaction) => {
      await transaction.execute(
        sql`update deals.event_counters set count = count where bucket = ${bucketOf(same.id)}::smallint`,
      )
      const answer = store.commit(changed(same))
      expect(await second.commit(changed(another))).toBe('committed')
      return { answer }
    })
    expect(await waiting.answer).toBe('committed')
  })
})
