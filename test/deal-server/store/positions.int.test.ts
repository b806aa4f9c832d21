/** Positions where no stream brings them: in histories. */
import { expect, it } from 'vitest'
import { beginning } from '../../../deal-server/events/position.ts'
import { createDealRepository } from '../../../deal-server/store/deals.ts'
import { createEventLog } from '../../../deal-server/store/event-log.ts'
import { bucketOf } from '../../../deal-server/store/events/bucket.ts'
import { describeDealStores } from '../../support/stores/citus.ts'
import { databaseOfSuite } from '../../support/stores/own-database.ts'
import { commitOf, newDeal } from './commits.ts'

describeDealStores('positions of events', (open) => {
  const { database } = databaseOfSuite(open)

  it('stand in a history at once, also when nobody reads the log, and are those of the log', async () => {
    const store = createDealRepository(database)
    const deal = newDeal()
    await store.commit(commitOf(deal))
    await store.commit(commitOf({ ...deal, version: 2, sequence: 2 }, { before: deal }))
    const { items } = await store.history(deal.id, { limit: 20, after: undefined })
    const { events } = await createEventLog(database).read(beginning, { limit: 1_000, dealId: deal.id })
    expect(items.map(({ id, position }) => [id, position])).toEqual(events.map(({ id, position }) => [id, position]))
    expect(items).toHaveLength(2)
  })

  it('follow the time of events that one look brings', async () => {
    const store = createDealRepository(database)
    const log = createEventLog(database)
    const { last } = await log.takeSnapshot()
    // Each in a bucket of its own: the events of a bucket stay together.
    const made = Array.from({ length: 12 }, () => newDeal())
    const deals = [...new Map(made.map((deal) => [bucketOf(deal.id), deal])).values()]
    for (const [index, deal] of deals.entries()) {
      await store.commit(commitOf(deal, { happenedAt: new Date(Date.UTC(2026, 0, 2) + index).toISOString() }))
    }
    const { events } = await log.read(last, { limit: 20 })
    expect(events.map(({ dealId }) => dealId)).toEqual(deals.map(({ id }) => id))
  })
})
